#include "scenarios/accuracy/memory_accuracy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>
#include <variant>

#include "scenarios/accuracy/each_row.h"
#include "scenarios/accuracy/run_scenario.h"
#include "strategies/build_program.h"

namespace scenarios {
namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

enum class Quantity { kReserved, kAllocated };
enum class Of { kFirstStage, kLastStage, kHeaviestStage };

struct Kind {
  std::string_view name;
  Quantity quantity;
  Of stage;
};

/// Kinds that say what they count. The two of one rank are of the rank that writes the log: nanotron's behaves like the
/// first stage, Megatron's is the last rank and so on the last stage.
constexpr std::array<Kind, 4> kKinds{
    {{"reserved (torch max, one rank)", Quantity::kReserved, Of::kFirstStage},
     {"allocated (torch max, bytes, one rank)", Quantity::kAllocated, Of::kLastStage},
     {"reserved (tool metric, max over ranks where stated)", Quantity::kReserved, Of::kHeaviestStage},
     {"allocated", Quantity::kAllocated, Of::kHeaviestStage}}};

std::int64_t bytes_of(const StageMemory& stage, Quantity quantity) {
  return quantity == Quantity::kReserved ? stage.peak_bytes : stage.allocated_bytes;
}

std::optional<Verdict> verdict_of(const std::string& outcome, bool fits) {
  if (outcome == "fit") return fits ? Verdict::kRight : Verdict::kFalseOom;
  if (outcome == "oom") return fits ? Verdict::kFalseFit : Verdict::kRight;
  return std::nullopt;
}

MemoryRow predict_row(std::size_t index, const MeasuredRun& run, const Catalog& catalog) {
  MemoryRow row;
  row.run = index;
  if (!run.memory_gib && run.outcome.empty()) {
    row.skipped = "no measured memory";
    return row;
  }
  const std::variant<RunScenario, Skipped> made = scenario_of(run, catalog);
  if (const auto* skipped = std::get_if<Skipped>(&made)) {
    row.skipped = skipped->reason;
    return row;
  }
  const RunScenario& described = std::get<RunScenario>(made);
  const Scenario& scenario = described.scenario;
  if (described.recompute_unknown) {
    row.skipped = "recompute unknown";
    return row;
  }
  const MemoryPrediction memory = predict_memory(
      scenario,
      strategies::build_program(scenario.model, scenario.training, scenario.plan, scenario.software.implementation));
  row.device_gib = static_cast<double>(memory.device_bytes) / kGib;
  row.capacity_gib = static_cast<double>(memory.capacity_bytes) / kGib;
  row.fits = memory.fits;
  row.verdict = verdict_of(run.outcome, memory.fits);
  if (!run.memory_gib || *run.memory_gib <= 0) return row;
  const std::optional<std::int64_t> counterpart = measured_quantity(run.memory_kind, memory);
  row.scored_kind = counterpart.has_value();
  row.predicted_gib = static_cast<double>(counterpart.value_or(memory.peak_bytes)) / kGib;
  row.error = std::log(*row.predicted_gib / *run.memory_gib);
  return row;
}

void count(Verdicts& verdicts, Verdict verdict) {
  ++verdicts.rows;
  verdicts.right += verdict == Verdict::kRight ? 1 : 0;
  verdicts.false_fit += verdict == Verdict::kFalseFit ? 1 : 0;
  verdicts.false_oom += verdict == Verdict::kFalseOom ? 1 : 0;
}

void count_rows(MemoryAccuracy& report) {
  for (const MemoryRow& row : report.rows) {
    if (!row.skipped.empty()) ++report.skipped[row.skipped];
    if (row.skipped.empty() && report.runs[row.run].outcome == "failed-unknown") ++report.unknown_failures;
  }
}

void score_families(MemoryAccuracy& report) {
  std::set<std::string> names;
  for (const MeasuredRun& run : report.runs) names.insert(run.family);
  std::vector<RowError> all;
  for (const std::string& name : names) {
    FamilyMemory family{name, {}, {}};
    std::vector<RowError> errors;
    for (const MemoryRow& row : report.rows) {
      const MeasuredRun& run = report.runs[row.run];
      if (run.family != name) continue;
      if (row.scored()) errors.push_back({*row.error, std::nullopt, run.group, 1});
      if (!row.verdict) continue;
      count(family.verdicts, *row.verdict);
      count(report.verdicts, *row.verdict);
    }
    family.errors = summarise(errors);
    all.insert(all.end(), errors.begin(), errors.end());
    report.families.push_back(family);
  }
  report.total = summarise(all);
}

void list_unscored(MemoryAccuracy& report) {
  std::map<std::pair<std::string, std::string>, std::vector<RowError>> kinds;
  for (const MemoryRow& row : report.rows) {
    const MeasuredRun& run = report.runs[row.run];
    if (row.error && !row.scored_kind) {
      kinds[{run.family, run.memory_kind}].push_back({*row.error, std::nullopt, run.group, 1});
    }
  }
  for (const auto& [name, errors] : kinds) report.unscored.push_back({name.first, name.second, summarise(errors)});
}

}  // namespace

std::optional<std::int64_t> measured_quantity(const std::string& kind, const MemoryPrediction& memory) {
  const auto found = std::ranges::find(kKinds, kind, &Kind::name);
  if (found == kKinds.end() || memory.stages.empty()) return std::nullopt;
  switch (found->stage) {
    case Of::kFirstStage:
      return bytes_of(memory.stages.front(), found->quantity);
    case Of::kLastStage:
      return bytes_of(memory.stages.back(), found->quantity);
    case Of::kHeaviestStage:
      break;
  }
  return found->quantity == Quantity::kReserved ? memory.peak_bytes : memory.peak_allocated_bytes;
}

MemoryAccuracy evaluate_memory(std::vector<MeasuredRun> runs, const Catalog& catalog) {
  MemoryAccuracy report;
  report.runs = std::move(runs);
  report.rows.resize(report.runs.size());
  for_each_row(report.runs.size(), [&](std::size_t i) { report.rows[i] = predict_row(i, report.runs[i], catalog); });
  count_rows(report);
  score_families(report);
  list_unscored(report);
  return report;
}

}  // namespace scenarios
