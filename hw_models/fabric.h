// The network between nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hw_models/collective_correction.h"
#include "hw_models/units.h"

namespace hw_models {

enum class FabricKind : std::uint8_t {
  kRailOptimized,  ///< NIC i of every node of a unit hangs on leaf i; spines join the leaves
  kFatTree,        ///< all NICs of a node hang on one leaf
  kNone            ///< a single node
};
constexpr const char* name(FabricKind kind) {
  if (kind == FabricKind::kNone) return "none";
  return kind == FabricKind::kFatTree ? "fat-tree" : "rail-optimized";
}

struct FabricSpec {
  std::string name;  ///< catalogue name, e.g. "infiniband-ndr"
  FabricKind kind = FabricKind::kRailOptimized;
  int nodes_per_unit = 32;                 ///< nodes under one set of leaves
  double oversubscription = 1;             ///< leaf downlink : uplink capacity, >= 1
  int units_per_pod = 0;                   ///< units under one set of spines, cores join the pods; 0 = all units
  double spine_oversubscription = 1;       ///< spine downlink : uplink capacity, >= 1; with pods
  int planes = 1;                          ///< copies of all switches; every NIC has a port on each
  int uplinks = 0;                         ///< cables of a leaf towards spines; 0 = those that NIC ports would need
  std::optional<std::uint64_t> hash_seed;  ///< hashed routing (fabric_flows.h); none = balanced
  double efficiency = 0.9;                 ///< payload share of the line rate that a collective reaches, (0, 1]
  Seconds switch_latency{};                ///< one switch
  Seconds endpoint_latency{};              ///< NIC to NIC software and DMA cost of one message, without switches
  Seconds jitter{};                        ///< mean lateness of a node at a collective between nodes (jitter.h)
  std::optional<FabricCorrection> collectives;  ///< measured; else none
  Watts power_per_port{};                       ///< switch share and transceivers
};

}  // namespace hw_models
