#include "strategies/pipeline/pass_costs.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "hw_models/kernel_time.h"

namespace strategies {
namespace {

/// A100 SXM: 312 TFLOP/s dense, 2.04 TB/s, 108 multiprocessors (NVIDIA's data sheet); every format is taken for half
/// precision, since narrower ones speed up all products alike.
hw_models::GpuSpec nominal_gpu() {
  hw_models::GpuSpec gpu;
  gpu.name = "nominal";
  gpu.multiprocessors = 108;
  gpu.matrix_peak.fill(hw_models::FlopsPerSecond(312e12));
  gpu.vector_peak = hw_models::FlopsPerSecond(19.5e12);
  gpu.memory_bandwidth = hw_models::BytesPerSecond(2.04e12);
  return gpu;
}

/// Messages: 28.3 MB in 0.60 ms, 25.2 MB in 0.53 ms (Qi et al., table 9, models of 1.5B and 6.2B).
constexpr double kMessageBytesPerSecond = 47e9;
/// Tensor collectives run inside NVLink domains: 300 GB/s each way, of which about 0.8 is reached.
constexpr double kTensorBytesPerSecond = 240e9;

double seconds(const Operation& operation, const hw_models::GpuSpec& gpu) {
  if (const auto* compute = std::get_if<Compute>(&operation.work)) {
    return hw_models::kernel_cost(compute->kernel, gpu).time.value();
  }
  const auto* collective = std::get_if<Collective>(&operation.work);
  if (collective == nullptr || operation.lane != Lane::kTensor) return 0;
  return static_cast<double>(collective->bytes.value()) / kTensorBytesPerSecond;
}

std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

std::int64_t length(const Block& block, const hw_models::GpuSpec& gpu) {
  double sum = 0;
  for (const Operation& operation : block.operations) sum += seconds(operation, gpu);
  return nanoseconds(sum);
}

std::int64_t longest_message(const Block& block) {
  double longest = 0;
  for (const Operation& operation : block.operations) {
    if (const auto* send = std::get_if<Send>(&operation.work)) {
      longest = std::max(longest, static_cast<double>(send->bytes.value()) / kMessageBytesPerSecond);
    }
  }
  return nanoseconds(longest);
}

/// What the block adds to the memory that outlives it.
std::int64_t kept(const Role& role, const Block& block) {
  std::int64_t bytes = 0;
  const auto outlives = [&role](BufferId buffer) {
    return role.buffers[buffer.value].lifetime == Lifetime::kMicrobatch ? role.buffers[buffer.value].size.value() : 0;
  };
  for (const Operation& operation : block.operations) {
    for (const BufferId buffer : operation.allocates) bytes += outlives(buffer);
    for (const BufferId buffer : operation.frees) bytes -= outlives(buffer);
  }
  return bytes;
}

}  // namespace

PassCosts pass_costs(const Role& role, const Block& forward, const Block& input, const Block& weight) {
  const hw_models::GpuSpec gpu = nominal_gpu();
  PassCosts costs;
  costs.forward = length(forward, gpu);
  costs.backward = length(input, gpu);
  costs.weight = length(weight, gpu);
  costs.send = std::max(longest_message(forward), longest_message(input));
  costs.kept = kept(role, forward);
  costs.kept_for_weight = costs.kept + kept(role, input);
  return costs;
}

}  // namespace strategies
