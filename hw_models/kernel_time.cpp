#include "hw_models/kernel_time.h"

#include "hw_models/kernel_families.h"

namespace hw_models {
namespace {

struct CostOf {
  const GpuSpec& gpu;

  KernelCost operator()(const Matmul& kernel) const { return matmul_cost(kernel, gpu); }
  KernelCost operator()(const Attention& kernel) const { return attention_cost(kernel, gpu); }
  KernelCost operator()(const Norm& kernel) const { return norm_cost(kernel, gpu); }
  KernelCost operator()(const Elementwise& kernel) const { return elementwise_cost(kernel, gpu); }
  KernelCost operator()(const Embedding& kernel) const { return embedding_cost(kernel, gpu); }
  KernelCost operator()(const CrossEntropy& kernel) const { return cross_entropy_cost(kernel, gpu); }
  KernelCost operator()(const Optimizer& kernel) const { return optimizer_cost(kernel, gpu); }
  KernelCost operator()(const SquaredNorm& kernel) const { return squared_norm_cost(kernel, gpu); }
  KernelCost operator()(const Route& kernel) const { return route_cost(kernel, gpu); }
  KernelCost operator()(const Measured& kernel) const { return {.time = Seconds(kernel.seconds)}; }
};

}  // namespace

KernelCost kernel_cost(const Kernel& kernel, const GpuSpec& gpu) {
  KernelCost cost = std::visit(CostOf{gpu}, kernel);
  if (gpu.measured) cost.time = measured_time(kernel, *gpu.measured, gpu.busy_neighbours).value_or(cost.time);
  return cost;
}

}  // namespace hw_models
