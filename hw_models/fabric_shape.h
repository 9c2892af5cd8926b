// The switches and cables of a fabric, how high a message climbs in it, and what that costs.
//
//   tier 0  both NICs on one leaf                  1 switch    line rate
//   tier 1  over a spine: other unit or rail       3 switches  line rate / oversubscription
//   tier 2  over a core: other pod                 5 switches  line rate / (oversubscription x spine oversubscription)
//
// A fully built fabric, for each of its p planes, where a NIC port is a NIC / p (the fastest in a mixed cluster):
//
//   downlinks of a leaf d = nodes of a unit x NICs / leaves of a unit
//   uplinks of a leaf   u = d / oversubscription, rounded, unless given;   one cable = d ports / oversubscription / u
//   spines of a pod       = u: a cable of every leaf of the pod goes to each
//   uplinks of a spine  w = leaves of a pod / spine oversubscription, rounded;   a cable carries
//                           leaves of a pod x a leaf's cable / spine oversubscription / w
//   cores                 = u w: core (s, c) joins cable c of spine s of every pod
#pragma once

#include "hw_models/cluster.h"
#include "hw_models/units.h"

namespace hw_models {

inline constexpr int kLeafTier = 0, kSpineTier = 1, kCoreTier = 2;

/// Of a message between NICs of these nodes that are on the same rail.
int fabric_tier(const FabricSpec& fabric, int from_node, int to_node);
/// By what the line rate is divided; everybody else crosses the tier too.
double taper(const FabricSpec& fabric, int tier);
inline double switches_crossed(int tier) { return 1 + 2 * tier; }

struct FabricShape {
  int planes = 1;
  int leaves = 0, pods = 0, leaves_per_pod = 0;  ///< of one plane, as everything below
  int downlinks = 0, uplinks = 0;                ///< of a leaf
  int spines_per_pod = 0, spine_uplinks = 0;
  int cores = 0;
  BytesPerSecond leaf_cable{}, spine_cable{};  ///< line rate of one uplink
};

/// `spec` must have passed check().
FabricShape fabric_shape(const ClusterSpec& spec);

}  // namespace hw_models
