#include "scenarios/accuracy/memory_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/accuracy/summary_json.h"
#include "scenarios/report/table.h"

namespace scenarios {
namespace {

using Json = nlohmann::ordered_json;
using Cells = std::vector<std::string>;

Cells error_cells(const ErrorSummary& errors) {
  if (errors.rows == 0) return {"0", "-", "-", "-"};
  return {std::to_string(errors.rows), fmt::format("{:.1f}", 100 * errors.median),
          fmt::format("{:.1f}", 100 * errors.p90), fmt::format("{:+.1f}", 100 * errors.bias)};
}

Cells joined(Cells cells, const Cells& more) {
  cells.insert(cells.end(), more.begin(), more.end());
  return cells;
}

Cells family_cells(const std::string& name, const ErrorSummary& errors, const Verdicts& verdicts) {
  return joined(joined({name}, error_cells(errors)),
                {std::to_string(verdicts.rows), std::to_string(verdicts.right), std::to_string(verdicts.false_fit),
                 std::to_string(verdicts.false_oom)});
}

std::string families_text(const MemoryAccuracy& report) {
  std::vector<Cells> rows{
      {"family", "rows", "median %", "p90 %", "bias %", "verdicts", "right", "false fit", "false OOM"}};
  for (const FamilyMemory& family : report.families) {
    if (family.errors.rows + family.verdicts.rows == 0) continue;
    rows.push_back(family_cells(family.family, family.errors, family.verdicts));
  }
  rows.push_back(family_cells("all", report.total, report.verdicts));
  return table(rows, 1);
}

std::string unscored_text(const MemoryAccuracy& report) {
  if (report.unscored.empty()) return "";
  std::vector<Cells> rows{{"family: kind of memory", "rows", "median %", "p90 %", "bias %"}};
  for (const UnscoredKind& kind : report.unscored) {
    rows.push_back(joined({kind.family + ": " + kind.kind}, error_cells(kind.errors)));
  }
  return "\nNot scored: the figure does not say what it counts; against reserved memory of the heaviest stage\n" +
         table(rows, 1);
}

std::string skipped_text(const MemoryAccuracy& report) {
  std::vector<Cells> rows;
  for (const auto& [reason, count] : report.skipped) rows.push_back({"  " + reason, std::to_string(count)});
  return "\nNot predicted\n" + table(rows, 1) +
         fmt::format("\nFailed for an unknown cause, no verdict: {} rows\n", report.unknown_failures);
}

std::string_view word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFalseFit:
      return "false fit";
    case Verdict::kFalseOom:
      return "false OOM";
    case Verdict::kRight:
      break;
  }
  return "right";
}

std::string number(const std::optional<double>& value) { return value ? fmt::format("{:.6g}", *value) : ""; }

}  // namespace

std::string memory_accuracy_text(const MemoryAccuracy& report) {
  return fmt::format("Memory of {} runs. error = ln(predicted / measured)\n\n", report.runs.size()) +
         families_text(report) + unscored_text(report) + skipped_text(report);
}

std::string memory_accuracy_json(const MemoryAccuracy& report) {
  Json families = Json::array(), unscored = Json::array();
  for (const FamilyMemory& family : report.families) {
    families.push_back({{"family", family.family}, {"memory", memory_json(family.errors, family.verdicts)}});
  }
  for (const UnscoredKind& kind : report.unscored) {
    Json one{{"family", kind.family}, {"memory_kind", kind.kind}};
    one.update(errors_json(kind.errors));
    unscored.push_back(one);
  }
  const Json json{{"rows", report.runs.size()}, {"skipped", skipped_json(report.skipped)},
                  {"families", families},       {"total", {{"memory", memory_json(report.total, report.verdicts)}}},
                  {"unscored", unscored},       {"unknown_failures", report.unknown_failures}};
  // The words of a table may be any bytes.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string memory_accuracy_csv(const MemoryAccuracy& report) {
  std::string text =
      "id,family,outcome,measured_gib,predicted_gib,scored,error_pct,device_gib,capacity_gib,verdict,skipped\n";
  for (const MemoryRow& row : report.rows) {
    const MeasuredRun& run = report.runs[row.run];
    text += fmt::format("{},{},{},{},", csv_cell(run.id), csv_cell(run.family), csv_cell(run.outcome),
                        number(run.memory_gib));
    if (!row.skipped.empty()) {
      text += fmt::format(",,,,,,{}\n", csv_cell(row.skipped));
      continue;
    }
    text += fmt::format("{},{},{},{:.6g},{:.6g},{},\n", number(row.predicted_gib), row.scored() ? 1 : 0,
                        row.error ? fmt::format("{:.2f}", 100 * *row.error) : "", row.device_gib, row.capacity_gib,
                        row.verdict ? word(*row.verdict) : "");
  }
  return text;
}

}  // namespace scenarios
