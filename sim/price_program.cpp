// duration of compute:    kernel_cost at the sustained clock + software.kernel_gap
// duration of collective: Network::collective on the worst layout among the groups that hold ranks of the role
// duration of send:       Network::send, the worst over the ranks of the role
// issue:                  software.kernel_launch, software.collective_launch (and collective_member for every member of
//                         a tensor-parallel group when the job spans nodes); one launch for a whole graph block
#include "sim/price_program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "hw_models/kernel_time.h"
#include "hw_models/network.h"
#include "sim/communication_prices.h"

namespace sim {
namespace {

using hw_models::CollectiveEstimate;
using hw_models::Seconds;

/// Longer operations are a mistake in the input; a step of thousands of them still fits the 64-bit clock.
constexpr double kLongestSeconds = 1e6;

std::int64_t nanoseconds(Seconds time) {
  if (!(time.value() >= 0 && time.value() < kLongestSeconds)) {
    throw std::invalid_argument("an operation takes " + std::to_string(time.value()) + " s: sizes or rates are absurd");
  }
  return static_cast<std::int64_t>(std::ceil(time.value() * 1e9));
}

/// Equal kernels cost the same: a model's layers repeat a few dozen shapes.
class KernelPrices {
 public:
  /// A step repeats for days: matrix products run at the clock that the power limit sustains.
  explicit KernelPrices(const hw_models::GpuSpec& gpu) : gpu_(gpu) { gpu_.matrix_efficiency *= gpu.sustained_clock; }

  const hw_models::KernelCost& of(const hw_models::Kernel& kernel) {
    auto& known = known_[kernel.index()];
    const auto same = [&](const auto& entry) { return entry.first == kernel; };
    const auto found = std::find_if(known.begin(), known.end(), same);
    if (found != known.end()) return found->second;
    return known.emplace_back(kernel, hw_models::kernel_cost(kernel, gpu_)).second;
  }

 private:
  hw_models::GpuSpec gpu_;
  std::array<std::vector<std::pair<hw_models::Kernel, hw_models::KernelCost>>, std::variant_size_v<hw_models::Kernel>>
      known_;
};

Seconds host_time(strategies::HostReason reason, const hw_models::SoftwareSpec& software) {
  switch (reason) {
    case strategies::HostReason::kLossRead:
    case strategies::HostReason::kGradientNorm:
    case strategies::HostReason::kBlockingSend:
    case strategies::HostReason::kBlockingReceive:
    case strategies::HostReason::kBlockingLaunch:
      return software.synchronize;
    case strategies::HostReason::kStepOverhead:
      return software.step_overhead;
    case strategies::HostReason::kInput:
      return {};  // the wait is the simulation's, from the input rate
  }
  throw std::invalid_argument("unknown host reason");
}

/// Prices one operation of one role.
struct Pricing {
  const strategies::Program& program;
  bool spans_nodes = false;
  double host_speed = 1;
  const hw_models::SoftwareSpec& software;
  KernelPrices& kernels;
  CollectivePrices& collectives;
  SendPrices& sends;
  std::uint32_t role = 0;

  std::int64_t launch_ns(Seconds launch) const { return nanoseconds(launch / host_speed); }

  /// What tensor-parallel layers add to each of their collectives.
  std::int64_t members_ns(const strategies::Operation& operation) const {
    const auto* collective = std::get_if<strategies::Collective>(&operation.work);
    if (!spans_nodes || collective == nullptr || operation.lane != strategies::Lane::kTensor) return 0;
    const strategies::Group& group = program.groups[collective->group.value];
    const int members = group.size(program.views[static_cast<std::size_t>(group.view)]);
    return launch_ns(software.collective_member * static_cast<double>(members));
  }

  OperationPrice operator()(const strategies::Compute& compute) const {
    const hw_models::KernelCost& cost = kernels.of(compute.kernel);
    return {.issue_ns = launch_ns(software.kernel_launch),
            .duration_ns = nanoseconds(cost.time + software.kernel_gap),
            .flops = cost.flops.value()};
  }
  OperationPrice operator()(const strategies::Collective& collective) const {
    const CollectiveEstimate estimate = collectives.of(collective, role);
    return {.issue_ns = launch_ns(software.collective_launch),
            .duration_ns = nanoseconds(estimate.time),
            .algorithm = estimate.algorithm};
  }
  OperationPrice operator()(const strategies::Send& send) const {
    return {.issue_ns = launch_ns(software.collective_launch), .duration_ns = nanoseconds(sends.of(send, role))};
  }
  OperationPrice operator()(const strategies::Receive&) const {
    return {.issue_ns = launch_ns(software.collective_launch)};
  }
  OperationPrice operator()(const strategies::Host& host) const {
    return {.duration_ns = nanoseconds(host_time(host.reason, software))};
  }
  OperationPrice operator()(const strategies::Checkpoint&) const {
    throw std::invalid_argument("storage is not modelled yet: the program writes a checkpoint");
  }
};

std::vector<OperationPrice> price_block(const strategies::Block& block, const Pricing& pricing) {
  std::vector<OperationPrice> prices;
  prices.reserve(block.operations.size());
  bool launched = false;
  for (const strategies::Operation& operation : block.operations) {
    OperationPrice price = std::visit(pricing, operation.work);
    price.issue_ns += pricing.members_ns(operation);
    if (block.graph && launched) price.issue_ns = 0;
    launched = launched || !std::holds_alternative<strategies::Host>(operation.work);
    prices.push_back(price);
  }
  return prices;
}

/// Inverse of the placement; -1 where no rank sits. Throws when a rank has no GPU of its own in the cluster.
std::vector<int> ranks_by_gpu(const strategies::Program& program, const hw_models::Cluster& cluster,
                              const strategies::Placement& placement) {
  if (placement.gpu.size() != program.role_of_rank.size()) {
    throw std::invalid_argument("the placement holds " + std::to_string(placement.gpu.size()) + " ranks, the program " +
                                std::to_string(program.ranks()));
  }
  std::vector<int> rank_of_gpu(static_cast<std::size_t>(cluster.gpus()), -1);
  for (std::size_t rank = 0; rank < placement.gpu.size(); ++rank) {
    const int gpu = placement.gpu[rank];
    if (gpu < 0 || gpu >= cluster.gpus()) {
      throw std::invalid_argument("rank " + std::to_string(rank) + " is placed on GPU " + std::to_string(gpu) +
                                  ", the cluster has " + std::to_string(cluster.gpus()));
    }
    if (std::exchange(rank_of_gpu[static_cast<std::size_t>(gpu)], static_cast<int>(rank)) >= 0) {
      throw std::invalid_argument("two ranks are placed on GPU " + std::to_string(gpu));
    }
  }
  return rank_of_gpu;
}

}  // namespace

Prices price_program(const strategies::Program& program, const hw_models::Cluster& cluster,
                     const hw_models::GpuSpec& gpu, const hw_models::SoftwareSpec& software,
                     const strategies::Placement& placement, const strategies::TrainingSpec& training) {
  const hw_models::Network network(cluster);
  KernelPrices kernels(gpu);
  CollectivePrices collectives(program, placement, network, ranks_by_gpu(program, cluster, placement));
  SendPrices sends(program, cluster, placement, network);
  Prices prices;
  prices.input_samples_per_ns = training.input_samples_per_s.value_or(0) * 1e-9;
  for (std::uint32_t role = 0; role < program.roles.size(); ++role) {
    const Pricing pricing{
        program, cluster.spec().nodes > 1, cluster.spec().node.host_speed, software, kernels, collectives, sends, role};
    std::vector<std::vector<OperationPrice>> blocks;
    for (const strategies::Block& block : program.roles[role].blocks) blocks.push_back(price_block(block, pricing));
    prices.of.push_back(std::move(blocks));
  }
  return prices;
}

}  // namespace sim
