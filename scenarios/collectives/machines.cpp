#include "scenarios/collectives/machines.h"

namespace scenarios {
namespace {

SweepMachine make(const MeasuredCollective& row, const Catalog& catalog) {
  SweepMachine made;
  const auto cluster = cluster_of(row, catalog);
  if (const auto* reason = std::get_if<std::string>(&cluster)) {
    made.reason = *reason;
    return made;
  }
  const auto& found = std::get<SweepCluster>(cluster);
  CollectiveOptions options;
  options.reducible = !row.int8;
  made.machine = std::make_unique<Machine>(found.cluster, row.gpus, options);
  made.node = found.cluster.node.name;
  made.fabric = found.cluster.fabric.name;
  made.usual_network = found.usual_network;
  return made;
}

}  // namespace

const SweepMachine& Machines::of(const MeasuredCollective& row) {
  const auto key = std::make_tuple(row.gpu, row.gpus, row.nodes, row.interconnect, row.int8);
  const auto found = machines_.find(key);
  return found != machines_.end() ? found->second : machines_.emplace(key, make(row, catalog_)).first->second;
}

}  // namespace scenarios
