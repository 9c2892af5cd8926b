// What a software stack costs around its kernels: prices, never part of the Program.
#pragma once

#include <string>

#include "hw_models/nccl/algorithm.h"
#include "hw_models/units.h"

namespace hw_models {

struct SoftwareSpec {
  std::string name;               ///< catalogue name, e.g. "megatron-core"
  Seconds kernel_launch{};        ///< host time to issue one kernel
  Seconds collective_launch{};    ///< host time to issue one collective or send/receive
  Seconds collective_member{};    ///< and for every member of its group, in jobs that span nodes
  Seconds shard_copy{};           ///< instead for a sharded optimizer's: for every member and tensor
  Seconds synchronize{};          ///< host time of a device synchronisation once the device is done
  Seconds step_overhead{};        ///< host time per step outside all kernels (logging, data, Python)
  Seconds kernel_gap{};           ///< device-side minimum between dependent kernels
  double allocator_overhead = 0;  ///< reserved / replayed through a caching allocator - 1
  bool defers_frees = false;      ///< what collectives of a forward pass read is free again only in backward
  bool single_engine = false;     ///< one thread computes and communicates; otherwise every lane runs by itself
  Bytes context{};                ///< driver context and library workspaces
  Bytes communicator{};           ///< NCCL buffers per communicator
  int nccl = kNewestNccl;         ///< its collective library is NCCL 2.`nccl`
};

}  // namespace hw_models
