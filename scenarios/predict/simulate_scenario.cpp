#include "scenarios/predict/simulate_scenario.h"

#include <fmt/format.h>

#include <optional>
#include <stdexcept>
#include <vector>

#include "executor/cpu/run_rank.h"
#include "scenarios/load/diagnostics.h"
#include "sim/price_program.h"
#include "sim/rank_classes.h"
#include "sim/step_simulation.h"
#include "sim/uplink_collisions.h"

namespace scenarios {
namespace {

constexpr std::string_view kAdvice =
    "check micro_batch, global_batch, sequence_length and the rates of the GPU, the node and the input";

/// Which lanes share an engine; nullopt: every lane runs by itself, as on a GPU.
std::optional<strategies::LaneEngines> shared_engines(const SoftwareStack& software) {
  if (software.prices.single_engine) return executor::cpu::kLaneEngines;
  return std::nullopt;
}

/// Time of all operations of one process one after the other.
double serial_ns(const strategies::Role& role, const std::vector<std::vector<sim::OperationPrice>>& prices) {
  std::vector<double> of_block;
  for (const std::vector<sim::OperationPrice>& block : prices) {
    double sum = 0;
    for (const sim::OperationPrice& price : block) {
      sum += static_cast<double>(price.issue_ns) + static_cast<double>(price.duration_ns);
    }
    of_block.push_back(sum);
  }
  double sum = 0;
  for (const strategies::Action& action : role.schedule) sum += of_block[action.block];
  return sum;
}

/// Bounds the operations of one step of all processes.
void check_size(const Scenario& scenario, const strategies::Program& program, const sim::RankClasses& classes) {
  constexpr double kMostOperations = 2e8;  // some minutes and 8 GB: 0.7 us and 35 bytes each, measured
  std::vector<double> of_role;
  for (const strategies::Role& role : program.roles) of_role.push_back(static_cast<double>(role.operations()));
  double operations = 0;
  for (const sim::RankClass& each : classes.all) operations += of_role[each.role];
  if (operations <= kMostOperations) return;
  throw InputError(
      fmt::format("{}: error: {} ranks one by one are {:.2g} operations, more than can be simulated\n  leave out "
                  "--unfolded, or use fewer GPUs or microbatches\n",
                  scenario.name, classes.size(), operations));
}

/// Whether something sets ranks of one role apart that would be alike.
bool unlike(const Scenario& scenario) {
  return scenario.cluster.mixed() || scenario.faults.any() || scenario.placement.listed() ||
         scenario.cluster.fabric.hash_seed;
}

sim::RankClasses classes_of(const Scenario& scenario, const strategies::Program& program, const PlacedJob& job,
                            const SimulationChoice& choice) {
  if (!choice.unfolded && !choice.split && !unlike(scenario)) return sim::classes_by_role(program);
  sim::RankClasses singles = sim::single_ranks(program, scenario.faults.slow_gpus);
  sim::RankClasses classes =
      choice.unfolded ? singles
                      : sim::folded_by_price(program, singles, job.cluster, scenario.software.prices, job.placement);
  check_size(scenario, program, classes);
  return classes;
}

sim::Prices price_scenario(const Scenario& scenario, const strategies::Program& program, const PlacedJob& job,
                           const SimulationChoice& choice) {
  try {
    return sim::price_program(program, classes_of(scenario, program, job, choice), job.cluster, scenario.gpu,
                              scenario.software.prices, job.placement, scenario.training);
  } catch (const std::invalid_argument& problem) {  // program and placement are ours: the sizes and rates are not
    throw InputError(fmt::format("{}: error: {}\n  {}\n", scenario.name, problem.what(), kAdvice));
  }
}

// No step is longer than all operations of all processes one after the other plus the wait for its samples.
void check_duration(const Scenario& scenario, const strategies::Program& program, const sim::Prices& prices) {
  constexpr double kLongestNs = 4e18;  // two steps are simulated and 2^63 is 9.2e18
  double step_ns = 0;
  for (std::size_t process = 0; process < prices.classes.size(); ++process) {
    step_ns += serial_ns(program.roles[prices.classes.all[process].role], prices.of[process]);
  }
  if (prices.input_samples_per_ns > 0) {
    step_ns += static_cast<double>(scenario.training.global_batch) / prices.input_samples_per_ns;
  }
  if (step_ns <= kLongestNs) return;
  throw InputError(fmt::format("{}: error: one step could take {:.2g} s, longer than can be simulated\n  {}\n",
                               scenario.name, step_ns * 1e-9, kAdvice));
}

}  // namespace

sim::StepResult simulate_scenario(const Scenario& scenario, const strategies::Program& program, const PlacedJob& job,
                                  const SimulationChoice& choice) {
  const sim::Prices prices = price_scenario(scenario, program, job, choice);
  check_duration(scenario, program, prices);
  const sim::StepOptions options{.steps = 2, .records = choice.records};
  const std::optional<strategies::LaneEngines> engines = shared_engines(scenario.software);
  return engines ? sim::simulate_operations(program, prices, options, *engines)
                 : sim::simulate_lanes(program, prices, options);
}

namespace {

/// With ranks of a role apart where their prices differ, as with faults or hashed routing.
std::int64_t split_step_ns(const Scenario& scenario, const strategies::Program& program) {
  return simulate_scenario(scenario, program, place_job(scenario, program), {.split = true}).step_ns;
}

}  // namespace

std::int64_t sound_step_ns(const Scenario& scenario, const strategies::Program& program) {
  Scenario sound = scenario;
  sound.faults = {};
  return split_step_ns(sound, program);
}

std::string routing_warning(const Scenario& scenario, const strategies::Program& program, const PlacedJob& job,
                            std::int64_t step_ns) {
  if (!scenario.cluster.fabric.hash_seed) return "";
  std::string flows;
  for (const auto& worst : sim::uplink_collisions(program, job.cluster, job.placement)) {
    if (worst.flows > 1) flows += fmt::format("{}{} {}", flows.empty() ? "" : ", ", worst.family, worst.flows);
  }
  Scenario balanced = scenario;
  balanced.cluster.fabric.hash_seed.reset();
  const std::int64_t balanced_ns = split_step_ns(balanced, program);
  return fmt::format("hashed routing, seed {}: {}; the step takes {:.3f} times as long as with balanced routing",
                     *scenario.cluster.fabric.hash_seed,
                     flows.empty() ? "no flows share an uplink" : "flows on the worst uplink: " + flows,
                     static_cast<double>(step_ns) / static_cast<double>(balanced_ns));
}

}  // namespace scenarios
