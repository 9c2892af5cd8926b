// A communicator of a cluster: every GPU of it, or the first few of each node, and what its collectives take.
#pragma once

#include <memory>
#include <string>

#include "hw_models/cluster.h"
#include "hw_models/nccl/estimate.h"
#include "scenarios/collectives/collective_test.h"

namespace scenarios {

/// The user's settings and the data.
struct CollectiveOptions {
  hw_models::NcclChoice choice;
  bool reducible = true;  ///< NVLink switches can add the data type (not int8)
  bool nvls = true;       ///< NCCL_NVLS_ENABLE
  bool sharp = false;     ///< NCCL_COLLNET_ENABLE
};

class Machine {
 public:
  /// `gpus` are spread over the nodes evenly, the first of each. Throws std::invalid_argument "field: what is wrong".
  Machine(const hw_models::ClusterSpec& cluster, int gpus, const CollectiveOptions& options = {});

  int ranks() const { return layout_.ranks; }
  bool one_domain() const { return layout_.domains == 1; }
  hw_models::NcclEstimate estimate(const CollectiveTest& test, std::int64_t bytes) const;
  /// "NVLink", "xGMI", "PCIe", "NIC", "leaf uplink" or "spine uplink": what limits the rate of `estimate`.
  std::string bottleneck(const hw_models::NcclEstimate& estimate) const;
  /// For fitting.
  void set_corrections(const hw_models::NodeCorrection& node, const hw_models::FabricCorrection& fabric);
  const hw_models::NcclSystem& system() const { return system_; }

 private:
  std::string network_bottleneck() const;

  hw_models::ClusterSpec spec_;
  CollectiveOptions options_;
  hw_models::NcclSystem system_;
  hw_models::GroupLayout layout_, free_;  ///< free_: without oversubscription and collisions
  bool slots_limit_ = false, spines_limit_ = false;
};

}  // namespace scenarios
