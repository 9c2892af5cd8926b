// The kernel families behind kernel_cost (kernel_time.h), one .cpp each.
#pragma once

#include "hw_models/gpu.h"
#include "hw_models/kernel.h"
#include "hw_models/kernel_time.h"

namespace hw_models {

/// Filling and draining the device, paid by every kernel; the gap between kernels is SoftwareSpec::kernel_gap. Both
/// together are the 2.1 to 2.8 us that published matmul sweeps of A100, H100, H200 and B200 show for 1 x 128 x 128.
inline constexpr Seconds kKernelRamp{1.5e-6};

/// Matrix rate for `dtype`; fp32 without matrix units runs on the vector units, tf32 where absent as fp32.
/// Throws std::invalid_argument when the GPU has no such format at all.
FlopsPerSecond matrix_rate(DType dtype, const GpuSpec& gpu);

/// `bytes` as a counter, saturating instead of overflowing for absurd shapes.
Bytes saturated(double bytes);

/// Time of `bytes` to and from device memory at the rate that streaming kernels reach, without the ramp.
Seconds streaming_time(double bytes, const GpuSpec& gpu);

/// A kernel that only moves `bytes`.
KernelCost streaming_cost(double bytes, const GpuSpec& gpu);

KernelCost matmul_cost(const Matmul& matmul, const GpuSpec& gpu);
KernelCost attention_cost(const Attention& attention, const GpuSpec& gpu);
KernelCost norm_cost(const Norm& norm, const GpuSpec& gpu);
KernelCost elementwise_cost(const Elementwise& pass, const GpuSpec& gpu);
KernelCost embedding_cost(const Embedding& embedding, const GpuSpec& gpu);
KernelCost cross_entropy_cost(const CrossEntropy& loss, const GpuSpec& gpu);
KernelCost optimizer_cost(const Optimizer& optimizer, const GpuSpec& gpu);
KernelCost squared_norm_cost(const SquaredNorm& norm, const GpuSpec& gpu);
KernelCost route_cost(const Route& route, const GpuSpec& gpu);

}  // namespace hw_models
