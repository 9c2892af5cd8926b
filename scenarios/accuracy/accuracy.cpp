#include "scenarios/accuracy/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>
#include <variant>

#include "scenarios/accuracy/run_scenario.h"
#include "scenarios/load/diagnostics.h"
#include "scenarios/predict/simulate_scenario.h"
#include "strategies/build_program.h"

namespace scenarios {
namespace {

double step_seconds(const Scenario& scenario) {
  const strategies::Program program =
      strategies::build_program(scenario.model, scenario.training, scenario.plan, scenario.software.implementation);
  return static_cast<double>(simulate_scenario(scenario, program, place_job(scenario, program)).step_ns) * 1e-9;
}

/// The step if replicas reduced after the backward instead of beside it, or the reverse. One bucket for all gradients
/// could not start before the end: stacks that never overlap get buckets of Megatron-Core's usual size.
double turned_overlap_seconds(Scenario scenario) {
  strategies::Implementation& implementation = scenario.software.implementation;
  implementation.overlap_gradient_reduce = !implementation.overlap_gradient_reduce;
  if (implementation.overlap_gradient_reduce && implementation.bucket_parameters == 0) {
    implementation.bucket_parameters = strategies::Implementation{}.bucket_parameters;
  }
  return step_seconds(scenario);
}

/// Model FLOPs / (GPUs x peak): the step of a job without any loss.
double ideal_seconds(const Scenario& scenario) {
  const strategies::TrainingSpec& training = scenario.training;
  const strategies::TokenFlops flops = strategies::training_flops_per_token(scenario.model, training.sequence_length);
  const double tokens = static_cast<double>(training.global_batch) * static_cast<double>(training.sequence_length);
  return (flops.dense + flops.attention) * tokens /
         (static_cast<double>(scenario.plan.ranks()) * scenario.gpu.peak(training.precision).value());
}

/// At least 7B parameters, 16 GPUs, sequences of 2048; tensor ranks within one NVLink domain. Inputs only.
bool is_buyer(const MeasuredRun& run, const strategies::ModelSpec& model) {
  return strategies::count_parameters(model).total >= 7'000'000'000 && run.gpus >= 16 &&
         run.tensor <= std::max<std::int64_t>(run.nvlink_domain, 1) && run.sequence_length >= 2048;
}

RowResult predict_row(std::size_t index, const MeasuredRun& run, const Catalog& catalog) {
  RowResult row;
  row.run = index;
  if (!run.step_s || *run.step_s <= 0) {
    row.skipped = "no measured step";
    return row;
  }
  std::variant<RunScenario, Skipped> made = scenario_of(run, catalog);
  if (const auto* skipped = std::get_if<Skipped>(&made)) {
    row.skipped = skipped->reason;
    return row;
  }
  auto& [scenario, usual_software, usual_network, recompute_unknown, overlap_unstated] = std::get<RunScenario>(made);
  row.usual_software = usual_software;
  row.usual_network = usual_network;
  row.ideal_s = ideal_seconds(scenario);
  row.buyer = is_buyer(run, scenario.model);
  try {
    row.predicted_s = step_seconds(scenario);
    if (overlap_unstated) row.other_overlap_s = turned_overlap_seconds(scenario);
    if (recompute_unknown) {
      scenario.plan.recompute = strategies::Recompute::kFull;
      row.full_recompute_s = step_seconds(scenario);
    }
  } catch (const InputError&) {  // one absurd row must not cost the others their score
    RowResult skipped;
    skipped.run = index;
    skipped.skipped = "too large to simulate";
    return skipped;
  }
  row.error = std::log(row.predicted_s / *run.step_s);
  return row;
}

using Selection = std::function<bool(const MeasuredRun&)>;

class Scorer {
 public:
  explicit Scorer(AccuracyReport& report) : report_(report) {
    fit_baseline();
    weigh_buyers();
  }

  ErrorSummary of(const Selection& selected) const {
    return summary([&](const RowResult& row) { return selected(report_.runs[row.run]); }, false);
  }
  ErrorSummary buyers() const {
    return summary([](const RowResult& row) { return row.buyer; }, true);
  }

 private:
  ErrorSummary summary(const std::function<bool(const RowResult&)>& selected, bool buyer_weights) const {
    std::vector<RowError> errors;
    for (const RowResult& row : report_.rows) {
      if (!row.scored() || !selected(row)) continue;
      errors.push_back(
          {row.error, baseline_[row.run], report_.runs[row.run].group, buyer_weights ? weight_[row.run] : 1});
    }
    return summarise(errors);
  }

  static std::string key(const MeasuredRun& run) { return run.family + "|" + run.gpu; }

  /// One constant MFU per (family, GPU), the one whose median error is zero: its step is proportional to the ideal one.
  void fit_baseline() {
    baseline_.resize(report_.runs.size());
    std::map<std::string, std::vector<std::pair<double, double>>> ratios;
    for (const RowResult& row : report_.rows) {
      if (!row.scored()) continue;
      const MeasuredRun& run = report_.runs[row.run];
      baseline_[row.run] = std::log(row.ideal_s / *run.step_s);
      ratios[key(run)].emplace_back(*baseline_[row.run], 1.0);
    }
    for (const RowResult& row : report_.rows) {
      if (!row.scored()) continue;
      *baseline_[row.run] -= weighted_quantile(ratios[key(report_.runs[row.run])], 0.5);
    }
  }

  /// Each (family, model, GPU) of the buyer subset weighs the same.
  void weigh_buyers() {
    weight_.resize(report_.runs.size(), 1);
    std::map<std::string, int> count;
    const auto cell = [](const MeasuredRun& run) { return run.family + "|" + run.model_name + "|" + run.gpu; };
    for (const RowResult& row : report_.rows) {
      const MeasuredRun& run = report_.runs[row.run];
      if (row.scored() && row.buyer) ++count[cell(run)];
    }
    for (const RowResult& row : report_.rows) {
      const MeasuredRun& run = report_.runs[row.run];
      if (row.scored() && row.buyer) weight_[row.run] = 1.0 / count[cell(run)];
    }
  }

  AccuracyReport& report_;
  std::vector<std::optional<double>> baseline_;
  std::vector<double> weight_;
};

void count_rows(AccuracyReport& report) {
  for (const RowResult& row : report.rows) {
    if (!row.skipped.empty()) {
      ++report.skipped[row.skipped];
      continue;
    }
    report.usual_software += row.usual_software ? 1 : 0;
    report.usual_network += row.usual_network ? 1 : 0;
  }
}

bool lies_between(double value, double one_end, double other_end) {
  const auto [low, high] = std::minmax(one_end, other_end);
  return low <= value && value <= high;
}

void count_bracket(Bracket& bracket, bool inside) {
  ++bracket.rows;
  bracket.inside += inside ? 1 : 0;
}

/// Of the rows of one family or, without a name, of all.
Unstated unstated_of(const AccuracyReport& report, const std::string* family) {
  Unstated unstated;
  std::vector<std::pair<double, double>> widths;
  for (const RowResult& row : report.rows) {
    const MeasuredRun& run = report.runs[row.run];
    if (family != nullptr && run.family != *family) continue;
    if (row.full_recompute_s) {
      count_bracket(unstated.recompute, lies_between(*run.step_s, row.predicted_s, *row.full_recompute_s));
      continue;
    }
    if (!row.other_overlap_s) continue;
    const bool inside = lies_between(*run.step_s, row.predicted_s, *row.other_overlap_s);
    if (row.overlap_unknown()) {
      count_bracket(unstated.overlap, inside);
      continue;
    }
    ++unstated.stack.rows;
    unstated.stack.inside += inside ? 1 : 0;
    widths.emplace_back(std::abs(std::log(*row.other_overlap_s / row.predicted_s)), 1.0);
  }
  unstated.stack.median_width = weighted_quantile(widths, 0.5);
  unstated.stack.p90_width = weighted_quantile(widths, 0.9);
  return unstated;
}

void score_families(AccuracyReport& report, const Scorer& scorer) {
  std::set<std::string> names;
  for (const MeasuredRun& run : report.runs) names.insert(run.family);
  for (const std::string& name : names) {
    report.families.push_back(
        {name, scorer.of([&](const MeasuredRun& run) { return run.family == name; }), unstated_of(report, &name)});
  }
  report.unstated = unstated_of(report, nullptr);
}

void score_splits(AccuracyReport& report, const Scorer& scorer) {
  for (const char* quality : {"A", "B", "C"}) {
    report.qualities.push_back(
        {std::string("quality ") + quality, scorer.of([&](const MeasuredRun& run) { return run.quality == quality; })});
  }
  for (std::int64_t low = 1; low <= 1'000'000; low *= 10) {
    report.splits.push_back({fmt::format("GPUs {} to {}", low, low * 10 - 1), scorer.of([low](const MeasuredRun& run) {
                               return run.gpus >= low && run.gpus < low * 10;
                             })});
  }
  for (const auto& range : {std::pair{1, 1}, std::pair{2, 3}, std::pair{4, 7}, std::pair{8, 1'000'000}}) {
    const int low = range.first, high = range.second;  // clang 14 captures no structured bindings
    const std::string name = high == low    ? fmt::format("micro-batch {}", low)
                             : high > 1'000 ? fmt::format("micro-batch {} or more", low)
                                            : fmt::format("micro-batch {} to {}", low, high);
    report.splits.push_back({name, scorer.of([low, high](const MeasuredRun& run) {
                               return *run.micro_batch >= low && *run.micro_batch <= high;
                             })});
  }
  report.splits.push_back({"hidden > 512", scorer.of([](const MeasuredRun& run) { return run.hidden > 512; })});
  report.splits.push_back({"tensor > 8", scorer.of([](const MeasuredRun& run) { return run.tensor > 8; })});
  report.splits.push_back({"pipeline > 1", scorer.of([](const MeasuredRun& run) { return run.pipeline > 1; })});
}

}  // namespace

AccuracyReport evaluate(std::vector<MeasuredRun> runs, const Catalog& catalog) {
  AccuracyReport report;
  report.runs = std::move(runs);
  for (std::size_t i = 0; i < report.runs.size(); ++i) report.rows.push_back(predict_row(i, report.runs[i], catalog));
  count_rows(report);
  const Scorer scorer(report);
  score_families(report, scorer);
  score_splits(report, scorer);
  report.total = scorer.of([](const MeasuredRun&) { return true; });
  report.buyer = scorer.buyers();
  return report;
}

}  // namespace scenarios
