#include <stdexcept>
#include <vector>

#include "sim/lane_process.h"
#include "sim/step_simulation.h"

namespace sim {

StepResult simulate_lanes(const strategies::Program& program, const Prices& prices, const StepOptions& options) {
  if (options.steps < 2) throw std::invalid_argument("a steady step needs at least two steps");
  LaneWorld world(program, prices, options);
  std::vector<LaneProcess> processes;
  processes.reserve(prices.classes.size());  // they stay where they are: lanes point into their tables
  for (std::uint32_t process = 0; process < prices.classes.size(); ++process) {
    world.processes.push_back(&processes.emplace_back(world, process));
  }
  for (LaneProcess& process : processes) process.begin();
  while (world.next.earliest() != TimeIndex::kNever) processes[world.next.first()].handle(world.next.earliest());
  for (const LaneProcess& process : processes) {
    if (!process.finished()) throw std::runtime_error("the program hangs: " + process.place());
  }

  std::vector<ClassObservation> observed;
  for (LaneProcess& process : processes) observed.push_back(process.observation());
  StepResult result = step_result(prices.classes, observed);
  for (const LaneProcess& process : processes) {
    result.records.insert(result.records.end(), process.records().begin(), process.records().end());
  }
  return result;
}

}  // namespace sim
