#include "hw_models/fabric_shape.h"

#include <algorithm>
#include <cmath>

#include "hw_models/cluster_numbering.h"

namespace hw_models {
namespace {

int rounded(double cables) { return std::max(1, static_cast<int>(std::lround(cables))); }

}  // namespace

int fabric_tier(const FabricSpec& fabric, int from_node, int to_node) {
  const int from_unit = from_node / fabric.nodes_per_unit, to_unit = to_node / fabric.nodes_per_unit;
  if (from_unit == to_unit) return kLeafTier;
  const bool pods = fabric.units_per_pod > 0;
  return pods && from_unit / fabric.units_per_pod != to_unit / fabric.units_per_pod ? kCoreTier : kSpineTier;
}

double taper(const FabricSpec& fabric, int tier) {
  if (tier == kLeafTier) return 1;
  return fabric.oversubscription * (tier == kCoreTier ? fabric.spine_oversubscription : 1);
}

FabricShape fabric_shape(const ClusterSpec& spec) {
  const ClusterNumbering number(spec);
  const FabricSpec& fabric = spec.fabric;
  FabricShape shape;
  shape.planes = fabric.planes;
  shape.leaves = number.leaves;
  if (number.leaves == 0) return shape;
  shape.downlinks = number.nodes_per_unit * number.nics / number.leaves_per_unit;
  if (number.spines == 0) return shape;
  shape.pods = number.spines;
  shape.leaves_per_pod = number.leaves_per_pod;
  shape.uplinks = fabric.uplinks > 0 ? fabric.uplinks : rounded(shape.downlinks / fabric.oversubscription);
  shape.spines_per_pod = shape.uplinks;
  BytesPerSecond nic{};
  for (std::size_t i = 0; i < spec.pool_count(); ++i) nic = std::max(nic, spec.node_of_pool(i).nic_bandwidth);
  const BytesPerSecond port = nic / fabric.planes;
  shape.leaf_cable = port * (shape.downlinks / fabric.oversubscription / shape.uplinks);
  if (number.cores == 0) return shape;
  shape.spine_uplinks = rounded(shape.leaves_per_pod / fabric.spine_oversubscription);
  shape.spine_cable = shape.leaf_cable * (shape.leaves_per_pod / fabric.spine_oversubscription / shape.spine_uplinks);
  shape.cores = shape.spines_per_pod * shape.spine_uplinks;
  return shape;
}

}  // namespace hw_models
