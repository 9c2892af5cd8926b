// Time of one kernel on one GPU, from its shape.
//
//   matmul:    max(compute, memory);  compute = waves(tiles, SMs) x tile FLOPs / (SM peak x efficiency(k))
//   attention: flash: matmul FLOPs at the flash efficiency, or its traffic; unfused: batched matmuls + softmax passes
//   others:    bytes / (bandwidth x efficiency(bytes)) with a ramp for small transfers
//
// Where the device was measured (GpuSpec::measured), its own times take their place.
#pragma once

#include "hw_models/gpu.h"
#include "hw_models/kernel.h"
#include "hw_models/units.h"

namespace hw_models {

struct KernelCost {
  Seconds time{};
  Flops flops{};    ///< useful floating-point operations on matrix units (0 for memory-bound kernels)
  Bytes traffic{};  ///< to and from device memory
  bool memory_bound = false;
};

KernelCost kernel_cost(const Kernel& kernel, const GpuSpec& gpu);

}  // namespace hw_models
