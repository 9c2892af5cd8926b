#include "scenarios/collectives/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "scenarios/accuracy/errors.h"
#include "scenarios/report/table.h"

namespace scenarios {
namespace {

constexpr std::int64_t kLarge = 16 << 20, kSmall = 1 << 20;
constexpr double kGood = 0.15;   ///< |ln|: nothing to explain below
constexpr double kClear = 0.05;  ///< |ln|: two faults closer than this cannot be told apart

std::vector<const NcclTestsRow*> large_rows(const NcclTestsOutput& output) {
  std::vector<const NcclTestsRow*> rows;
  for (const NcclTestsRow& row : output.rows) {
    if (row.bytes >= kLarge) rows.push_back(&row);
  }
  if (!rows.empty()) return rows;
  const std::size_t count = std::min<std::size_t>(3, output.rows.size());
  for (std::size_t i = output.rows.size() - count; i < output.rows.size(); ++i) rows.push_back(&output.rows[i]);
  return rows;
}

double misfit(const std::vector<const NcclTestsRow*>& rows, const CollectiveTest& test, const Machine& machine) {
  double sum = 0;
  for (const NcclTestsRow* row : rows) {
    sum += std::abs(std::log(row->time_us / (machine.estimate(test, row->bytes).time.value() * 1e6)));
  }
  return sum / static_cast<double>(rows.size());
}

/// The fault that fits best, if it explains half of the misfit; of equally good ones the first of the table.
const CollectiveFault* likely_fault(const std::vector<const NcclTestsRow*>& rows, const CollectiveTest& test,
                                    const hw_models::ClusterSpec& cluster, int gpus, const CollectiveOptions& options) {
  const double plain = misfit(rows, test, Machine(cluster, gpus, options));
  if (plain <= kGood) return nullptr;
  const CollectiveFault* best = nullptr;
  double least = plain / 2;
  for (const CollectiveFault& fault : collective_faults()) {
    hw_models::ClusterSpec faulty = cluster;
    CollectiveOptions changed = options;
    if (!fault.apply(faulty, changed)) continue;
    try {
      const double error = misfit(rows, test, Machine(faulty, gpus, changed));
      if (error >= (best == nullptr ? least : least - kClear)) continue;
      least = error;
      best = &fault;
    } catch (const std::invalid_argument&) {  // the machine cannot have this fault
      continue;
    }
  }
  return best;
}

std::string cause_of(const DiagnosedRow& row, const CollectiveFault* fault) {
  constexpr double kSlow = 80, kFast = 125;
  if (row.percent >= kSlow && row.percent <= kFast) return "";
  const bool large = row.measured.bytes >= kLarge;
  if (row.percent > kFast) return fault != nullptr && large ? std::string(fault->cause) : "faster than expected";
  if (fault != nullptr && row.measured.bytes >= kSmall) return std::string(fault->cause);
  if (row.measured.bytes < kSmall)
    return "latency: host or launch, clocks, one process for many GPUs, distant switches";
  return "bandwidth below expectation, no known fault fits: congestion, a slow link or a slow GPU";
}

}  // namespace

Diagnosis diagnose(const NcclTestsOutput& output, const CollectiveTest& test, const hw_models::ClusterSpec& cluster,
                   int gpus, const CollectiveOptions& options) {
  Diagnosis diagnosis;
  diagnosis.test = &test;
  diagnosis.ranks = gpus;
  const Machine machine(cluster, gpus, options);
  const std::vector<const NcclTestsRow*> large = large_rows(output);
  const CollectiveFault* fault = likely_fault(large, test, cluster, gpus, options);
  if (fault != nullptr) diagnosis.fault = fault->name;
  for (const NcclTestsRow& row : output.rows) {
    DiagnosedRow one{row, machine.estimate(test, row.bytes), "", 0, ""};
    one.bottleneck = machine.bottleneck(one.expected);
    one.percent = 100 * one.expected.time.value() * 1e6 / row.time_us;
    one.cause = cause_of(one, fault);
    diagnosis.rows.push_back(std::move(one));
  }
  std::vector<std::pair<double, double>> percents;
  for (const NcclTestsRow* row : large) {
    percents.emplace_back(100 * machine.estimate(test, row->bytes).time.value() * 1e6 / row->time_us, 1);
  }
  diagnosis.large_percent = weighted_quantile(std::move(percents), 0.5);
  return diagnosis;
}

std::string diagnosis_text(const Diagnosis& diagnosis) {
  std::string text = fmt::format("{} on {} GPUs: {:.0f} % of expected at large sizes\n\n", diagnosis.test->name,
                                 diagnosis.ranks, diagnosis.large_percent);
  std::vector<std::vector<std::string>> rows{{"size (B)", "time (us)", "expected (us)", "%", "busbw (GB/s)", "expected",
                                              "chosen", "limited by", "likely cause"}};
  for (const DiagnosedRow& row : diagnosis.rows) {
    const double expected_us = row.expected.time.value() * 1e6;
    const double bus =
        static_cast<double>(row.measured.bytes) / expected_us / 1e3 * bus_factor(*diagnosis.test, diagnosis.ranks);
    rows.push_back({std::to_string(row.measured.bytes), fmt::format("{:.2f}", row.measured.time_us),
                    fmt::format("{:.2f}", expected_us), fmt::format("{:.0f}", row.percent),
                    fmt::format("{:.2f}", row.measured.busbw), fmt::format("{:.2f}", bus),
                    fmt::format("{}/{}", name(row.expected.algorithm), name(row.expected.protocol)), row.bottleneck,
                    row.cause.empty() ? "-" : row.cause});
  }
  return text + table(rows);
}

std::string diagnosis_json(const Diagnosis& diagnosis) {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array();
  for (const DiagnosedRow& row : diagnosis.rows) {
    rows.push_back({{"bytes", row.measured.bytes},
                    {"time_us", row.measured.time_us},
                    {"expected_us", row.expected.time.value() * 1e6},
                    {"percent_of_expected", row.percent},
                    {"busbw_GBps", row.measured.busbw},
                    {"algorithm", name(row.expected.algorithm)},
                    {"protocol", name(row.expected.protocol)},
                    {"bottleneck_link", row.bottleneck},
                    {"likely_cause", row.cause.empty() ? Json(nullptr) : Json(row.cause)}});
  }
  const Json json{{"operation", diagnosis.test->name},
                  {"gpus", diagnosis.ranks},
                  {"percent_of_expected", diagnosis.large_percent},
                  {"likely_fault", diagnosis.fault.empty() ? Json(nullptr) : Json(diagnosis.fault)},
                  {"rows", rows}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace scenarios
