#include <fmt/format.h>

#include <cmath>

#include "scenarios/accuracy/accuracy_report.h"
#include "scenarios/report/table.h"

namespace scenarios {
namespace {

std::string percent(double error) { return fmt::format("{:.1f}", 100 * error); }
std::string signed_percent(double error) { return fmt::format("{:+.1f}", 100 * error); }

std::vector<std::string> cells(const std::string& name, const ErrorSummary& errors) {
  if (errors.rows == 0) return {name, "0"};
  return {name,
          std::to_string(errors.rows),
          percent(errors.median),
          percent(errors.p90),
          signed_percent(errors.bias),
          errors.skill ? fmt::format("{:.2f}", *errors.skill) : "-",
          errors.shape ? percent(*errors.shape) : "-"};
}

std::string number(const std::optional<double>& value) { return value ? fmt::format("{:.6g}", *value) : ""; }

std::string errors_text(const AccuracyReport& report) {
  std::vector<std::vector<std::string>> rows{{"family", "rows", "median %", "p90 %", "bias %", "skill", "shape %"}};
  for (const FamilyAccuracy& family : report.families) {
    if (family.errors.rows > 0) rows.push_back(cells(family.family, family.errors));
  }
  rows.push_back(cells("all", report.total));
  rows.push_back(cells("buyers (weighted)", report.buyer));
  for (const Split& split : report.qualities) rows.push_back(cells(split.name, split.errors));
  for (const Split& split : report.splits) {
    if (split.errors.rows > 0) rows.push_back(cells(split.name, split.errors));
  }
  return table(rows, 1);
}

std::string counts_text(const AccuracyReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [reason, count] : report.skipped) rows.push_back({"  " + reason, std::to_string(count)});
  std::string text = "Not predicted\n" + table(rows, 1);
  text += fmt::format("\nRecompute unknown: {} rows, measured between none and full in {}; not in the errors above\n",
                      report.unstated.recompute.rows, report.unstated.recompute.inside);
  text += fmt::format(
      "Overlap and software unknown: {} rows, measured between overlapped and exposed in {}; not in the errors above\n",
      report.unstated.overlap.rows, report.unstated.overlap.inside);
  const StackOverlap& overlap = report.unstated.stack;
  text += fmt::format(
      "Overlap not stated, the stack's stands in: {} rows of the errors above. Overlapped and exposed lie {} %\n"
      "apart (median; p90 {} %); measured between them in {}\n",
      overlap.rows, percent(overlap.median_width), percent(overlap.p90_width), overlap.inside);
  text += fmt::format(
      "Software unknown, 'generic' stands in: {} rows. Network unknown, the node's usual one stands in: {}\n",
      report.usual_software, report.usual_network);
  return text;
}

}  // namespace

std::string accuracy_text(const AccuracyReport& report) {
  return fmt::format("{} runs. error = ln(predicted / measured)\n\n", report.runs.size()) + errors_text(report) + "\n" +
         counts_text(report);
}

std::string accuracy_csv(const AccuracyReport& report) {
  std::string text =
      "id,family,measured_step_s,predicted_step_s,full_recompute_step_s,other_overlap_step_s,error_pct,skipped\n";
  for (const RowResult& row : report.rows) {
    const MeasuredRun& run = report.runs[row.run];
    const std::string measured = run.step_s ? fmt::format("{:g}", *run.step_s) : "";
    text += fmt::format("{},{},{},", csv_cell(run.id), csv_cell(run.family), measured);
    if (!row.skipped.empty()) {
      text += fmt::format(",,,,{}\n", csv_cell(row.skipped));
      continue;
    }
    text += fmt::format("{:.6g},{},{},{:.2f},\n", row.predicted_s, number(row.full_recompute_s),
                        number(row.other_overlap_s), 100 * row.error);
  }
  return text;
}

}  // namespace scenarios
