#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/report/table.h"
#include "scenarios/validate/validation.h"

namespace scenarios {
namespace {

using nlohmann::ordered_json;

constexpr double kQuietShare = 0.95;  // of their time that kernels have a core; the rest is start and communication

std::string milliseconds(double seconds) { return fmt::format("{:.3f}", seconds * 1e3); }
std::string percent(double share) { return fmt::format("{:+.1f} %", 100 * share); }

/// What no operation accounts for.
ComparedRow between(const Comparison& comparison) {
  return {"between operations", 0, comparison.predicted_between_s(), comparison.measured_between_s()};
}

std::vector<std::string> cells(const ComparedRow& row, const Comparison& comparison) {
  return {row.name,
          row.count > 0 ? fmt::format("{:.6g}", row.count) : "",
          milliseconds(row.predicted_s),
          milliseconds(row.measured_s),
          row.measured_s > 0 && row.predicted_s > 0 ? percent(row.error()) : "",
          fmt::format("{:.1f} %", 100 * row.measured_s / comparison.measured_step_s)};
}

std::string rows_text(const Comparison& comparison) {
  std::vector<std::vector<std::string>> rows{
      {"operations", "count", "predicted ms", "measured ms", "error", "of the step"}};
  for (const ComparedRow& row : comparison.kinds) rows.push_back(cells(row, comparison));
  rows.push_back(cells(between(comparison), comparison));
  rows.push_back(cells({"step", 0, comparison.predicted_step_s, comparison.measured_step_s}, comparison));
  std::vector<std::vector<std::string>> lanes{{"lane", "", "predicted ms", "measured ms", "error", "of the step"}};
  for (const ComparedRow& row : comparison.lanes) lanes.push_back(cells(row, comparison));
  return table(rows, 1) + "\n" + table(lanes, 1);
}

std::string memory_text(const Validation& validation) {
  std::vector<std::vector<std::string>> rows{{"peak memory", "predicted MiB", "measured MiB", "error"}};
  for (const ComparedMemory& row : validation.memory) {
    const auto predicted = static_cast<double>(row.predicted_bytes), measured = static_cast<double>(row.measured_bytes);
    rows.push_back({fmt::format("stage {}", row.stage), fmt::format("{:.2f}", predicted / (1 << 20)),
                    fmt::format("{:.2f}", measured / (1 << 20)), percent(predicted / measured - 1)});
  }
  return rows.size() > 1 ? "\n" + table(rows, 1) : "";
}

std::string verdict(const Validation& validation) {
  if (!validation.replicas_identical) return "DIFFERS: replicas hold different weights";
  if (validation.correctness_only) return "correctness only: more ranks than processors, times mean nothing";
  return fmt::format("{}: the step is predicted {} off, {} of {:.0f} %", validation.agrees() ? "agrees" : "DISAGREES",
                     percent(validation.comparison.error()),
                     validation.agrees() ? "within the tolerance" : "beyond the tolerance", 100 * validation.tolerance);
}

ordered_json rows_json(const std::vector<ComparedRow>& rows, const char* what) {
  ordered_json json = ordered_json::array();
  for (const ComparedRow& row : rows) {
    ordered_json each;
    each[what] = row.name;
    each["count"] = row.count;
    each["predicted_s"] = row.predicted_s;
    each["measured_s"] = row.measured_s;
    each["error"] = row.error();
    json.push_back(std::move(each));
  }
  return json;
}

}  // namespace

std::string validation_json(const Scenario& scenario, const Validation& validation) {
  const Comparison& comparison = validation.comparison;
  std::vector<ComparedRow> kinds = comparison.kinds;
  kinds.push_back(between(comparison));
  ordered_json json;
  json["scenario"] = scenario.name;
  json["fingerprint"] = validation.prediction.fingerprint;
  json["ranks"] = validation.prediction.gpus;
  json["predicted_step_s"] = comparison.predicted_step_s;
  json["measured_step_s"] = comparison.measured_step_s;
  json["error"] = comparison.error();
  json["tolerance"] = validation.tolerance;
  json["agrees"] = validation.agrees();
  json["correctness_only"] = validation.correctness_only;
  json["replicas_identical"] = validation.replicas_identical;
  json["core_share"] = validation.core_share ? ordered_json(*validation.core_share) : ordered_json();
  json["explained"] = comparison.explained();
  json["by_kind"] = rows_json(kinds, "kind");
  json["by_lane"] = rows_json(comparison.lanes, "lane");
  ordered_json& memory = json["memory"] = ordered_json::array();
  for (const ComparedMemory& row : validation.memory) {
    memory.push_back(
        {{"stage", row.stage}, {"predicted_bytes", row.predicted_bytes}, {"measured_bytes", row.measured_bytes}});
  }
  json["steps_s"] = comparison.measured_steps_s;
  json["loss"] = validation.losses;
  return json.dump(2) + "\n";
}

std::string validation_text(const Validation& validation) {
  const Comparison& comparison = validation.comparison;
  const auto [shortest, longest] = std::ranges::minmax(comparison.measured_steps_s);
  std::string text =
      fmt::format("program     {}, {} ranks\n", validation.prediction.fingerprint, validation.prediction.gpus);
  text += fmt::format("step        predicted {} ms, measured {} ms (middle half of {}, {} to {})\n",
                      milliseconds(comparison.predicted_step_s), milliseconds(comparison.measured_step_s),
                      comparison.measured_steps_s.size(), milliseconds(shortest), milliseconds(longest));
  text += fmt::format("explained   {:.1f} % of the measured step\n", 100 * comparison.explained());
  if (!validation.losses.empty()) {
    text += fmt::format("loss        {:.4f} at step 1, {:.4f} at step {}\n", validation.losses.front(),
                        validation.losses.back(), validation.losses.size());
  }
  if (validation.core_share && *validation.core_share < kQuietShare) {
    text +=
        fmt::format("machine     busy: kernels had a core {:.0f} % of their time, so the measured times are too long\n",
                    100 * *validation.core_share);
  }
  text += "\n" + rows_text(comparison) + memory_text(validation);
  return text + "\n" + verdict(validation) + "\n";
}

}  // namespace scenarios
