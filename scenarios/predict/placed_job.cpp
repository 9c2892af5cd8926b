#include "scenarios/predict/placed_job.h"

namespace scenarios {

PlacedJob place_job(const Scenario& scenario, const strategies::Program& program) {
  hw_models::ClusterSpec spec = scenario.cluster;
  spec.dead_nics = scenario.faults.dead_nics;
  spec.thin_link = scenario.faults.thin_link;
  spec.chosen_nics = scenario.placement.chosen_nics(spec.node.gpus);
  return {hw_models::Cluster(spec), strategies::place(program, scenario.placement, spec.node.gpus)};
}

}  // namespace scenarios
