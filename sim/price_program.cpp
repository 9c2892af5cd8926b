// duration of compute:    kernel_cost at the sustained clock of the job's slowest GPU / speed of the class
//                         + software.kernel_gap; in a mixed cluster on the GPU of the class's pool, the slowest of its
//                         kind in the job
// duration of collective: Network::collective on the worst layout among the groups that hold ranks of the class
// duration of send:       Network::send, the worst over the ranks of the class
// load:                   what a transfer occupies of its GPU's ports, multiprocessors and memory while it runs alone
//                         (wire_load.h): seconds of the port / duration, channels / multiprocessors, bytes of memory
//                         traffic / (duration x streaming rate)
// bound:                  of a kernel, what it is short of when transfers take it: memory or multiprocessors
// issue:                  software.kernel_launch, software.collective_launch (and collective_member for every member of
//                         its group when the job spans nodes; around a sharded optimizer's instead shard_copy for
//                         every member and tensor); one launch for a whole graph block
#include "sim/price_program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "hw_models/jitter.h"
#include "hw_models/kernel_time.h"
#include "hw_models/network.h"
#include "sim/communication_prices.h"

namespace sim {
namespace {

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
  /// All ranks meet once a step at least: the slowest of their GPUs sets the pace.
  /// The other devices of its node that ranks sit on are at work, too.
  KernelPrices(const hw_models::GpuSpec& gpu, int ranks, int gpus_per_node) : gpu_(gpu) {
    gpu_.matrix_efficiency *= gpu.sustained_clock / hw_models::slowest_over_average(gpu.speed_spread, ranks);
    const int devices = gpu.measured ? gpu.measured->devices : 1;
    const double others = std::min({ranks, gpus_per_node, devices}) - 1;
    if (devices > 1) gpu_.busy_neighbours = others / (devices - 1);
  }

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
    case strategies::HostReason::kTokenCounts:
      return software.synchronize;
    case strategies::HostReason::kStepOverhead:
      return software.step_overhead;
    case strategies::HostReason::kInput:
      return {};  // the wait is the simulation's, from the input rate
  }
  throw std::invalid_argument("unknown host reason");
}

std::int32_t share(double part) {
  return static_cast<std::int32_t>(std::lround(std::clamp(part, 0.0, 1.0) * kFullRate));
}

/// A CPU core has no multiprocessors to lend: its collectives run on it or in the operating system.
PortLoad port_load(const hw_models::WireLoad& wire, Seconds duration, const hw_models::GpuSpec& gpu) {
  PortLoad load;
  if (duration <= Seconds(0)) return load;
  for (std::size_t port = 0; port < load.ports.size(); ++port) load.ports[port] = share(wire.busy[port] / duration);
  const double streaming = gpu.memory_bandwidth.value() * gpu.memory_efficiency;
  load.memory = share(wire.memory_bytes / (duration.value() * streaming));
  if (gpu.multiprocessors > 1) load.multiprocessors = share(static_cast<double>(wire.channels) / gpu.multiprocessors);
  return load;
}

/// Prices one operation of one class.
struct Pricing {
  const strategies::Program& program;
  bool spans_nodes = false;
  double host_speed = 1;
  const hw_models::SoftwareSpec& software;
  KernelPrices& kernels;
  CollectivePrices& collectives;
  SendPrices& sends;
  const hw_models::GpuSpec& gpu;
  PortLoads& loads;
  std::uint32_t process = 0;
  double speed = 1;  ///< of kernels

  std::int64_t launch_ns(Seconds launch) const { return nanoseconds(launch / host_speed); }

  /// What a collective costs the host for each member of its group; around a sharded optimizer's, for each member's
  /// piece of each tensor.
  std::int64_t members_ns(const strategies::Operation& operation) const {
    const auto* collective = std::get_if<strategies::Collective>(&operation.work);
    if (collective == nullptr) return 0;
    const strategies::Group& group = program.groups[collective->group.value];
    const double members = group.size(program.views[static_cast<std::size_t>(group.view)]);
    const bool reduces_shards =
        operation.lane == strategies::Lane::kData && collective->kind == strategies::CollectiveKind::kReduceScatter;
    if (reduces_shards || operation.lane == strategies::Lane::kGather) {
      return launch_ns(software.shard_copy * (members * static_cast<double>(operation.writes.size())));
    }
    return spans_nodes ? launch_ns(software.collective_member * members) : 0;
  }

  OperationPrice operator()(const strategies::Compute& compute) const {
    const hw_models::KernelCost& cost = kernels.of(compute.kernel);
    return {.issue_ns = launch_ns(software.kernel_launch),
            .duration_ns = nanoseconds(cost.time / speed + software.kernel_gap),
            .flops = cost.flops.value(),
            .bound = cost.memory_bound ? Bound::kMemory : Bound::kMultiprocessors};
  }
  OperationPrice operator()(const strategies::Collective& collective) const {
    return transfer(collectives.of(collective, process));
  }
  OperationPrice operator()(const strategies::Send& send) const { return transfer(sends.of(send, process)); }
  OperationPrice transfer(const TransferPrice& price) const {
    return {.issue_ns = launch_ns(software.collective_launch),
            .duration_ns = nanoseconds(price.time),
            .algorithm = price.algorithm,
            .load = loads.add(port_load(price.load, price.time, gpu))};
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

/// A GPU and its host, with what its kernels cost.
struct PricedPool {
  const hw_models::NodeSpec& node;
  const hw_models::GpuSpec& gpu;
  KernelPrices kernels;
};

/// One for each pool of the cluster; `ranks` sit on its GPUs.
std::vector<PricedPool> price_pools(const hw_models::ClusterSpec& cluster, const hw_models::GpuSpec& gpu, int ranks,
                                    const std::vector<int>& rank_of_gpu) {
  std::vector<PricedPool> pools;
  if (!cluster.mixed()) {
    pools.push_back({cluster.node, gpu, KernelPrices(gpu, ranks, cluster.node.gpus)});
    return pools;
  }
  std::vector<int> ranks_on(cluster.pools.size());  // by the first pool of their kind
  auto next = rank_of_gpu.begin();
  for (std::size_t i = 0; i < cluster.pools.size(); ++i) {
    const auto end = next + std::ptrdiff_t{cluster.pools[i].nodes} * cluster.pools[i].node.gpus;
    const auto sitting = std::count_if(next, end, [](int rank) { return rank >= 0; });
    ranks_on[hw_models::first_of_kind(cluster, i)] += static_cast<int>(sitting);
    next = end;
  }
  for (std::size_t i = 0; i < cluster.pools.size(); ++i) {
    const hw_models::NodePool& pool = cluster.pools[i];
    const int of_kind = ranks_on[hw_models::first_of_kind(cluster, i)];
    pools.push_back({pool.node, pool.gpu, KernelPrices(pool.gpu, of_kind, pool.node.gpus)});
  }
  return pools;
}

/// By class.
std::vector<int> pools_of_classes(const RankClasses& classes, const hw_models::Cluster& cluster,
                                  const strategies::Placement& placement) {
  std::vector<int> pools(classes.size(), -1);
  for (std::size_t rank = 0; rank < placement.gpu.size(); ++rank) {
    int& known = pools[classes.of_rank[rank]];
    const int pool = cluster.pool_of(placement.gpu[rank]);
    if (known >= 0 && known != pool) {
      throw std::invalid_argument("ranks of one class sit on nodes of several pools: fold the ranks by price");
    }
    known = pool;
  }
  return pools;
}

/// One of the two.
struct Communication {
  const strategies::Collective* collective = nullptr;
  const strategies::Send* send = nullptr;
};

/// By role: its collectives and sends, one of each price.
std::vector<std::vector<Communication>> distinct_communications(const strategies::Program& program) {
  std::vector<std::vector<Communication>> result;
  for (const strategies::Role& role : program.roles) {
    std::vector<Communication>& distinct = result.emplace_back();
    std::set<std::tuple<strategies::CollectiveKind, strategies::GroupId, hw_models::Bytes>> collectives;
    std::set<std::pair<int, hw_models::Bytes>> sends;
    for (const strategies::Block& block : role.blocks) {
      for (const strategies::Operation& operation : block.operations) {
        const auto* collective = std::get_if<strategies::Collective>(&operation.work);
        const auto* send = std::get_if<strategies::Send>(&operation.work);
        if (collective != nullptr) {
          const hw_models::Bytes bytes = priced_bytes(*collective);
          if (collectives.emplace(collective->kind, collective->group, bytes).second) distinct.push_back({collective});
        } else if (send != nullptr && sends.emplace(send->virtual_stage, send->bytes).second) {
          distinct.push_back({nullptr, send});
        }
      }
    }
  }
  return result;
}

}  // namespace

Prices price_program(const strategies::Program& program, RankClasses classes, const hw_models::Cluster& cluster,
                     const hw_models::GpuSpec& gpu, const hw_models::SoftwareSpec& software,
                     const strategies::Placement& placement, const strategies::TrainingSpec& training) {
  const hw_models::Network network(cluster, hw_models::known_to_nccl(software.nccl));
  std::vector<int> rank_of_gpu = ranks_by_gpu(program, cluster, placement);
  std::vector<PricedPool> pools = price_pools(cluster.spec(), gpu, program.ranks(), rank_of_gpu);
  const std::vector<int> pool_of = pools_of_classes(classes, cluster, placement);
  CollectivePrices collectives(program, classes, cluster, placement, network, std::move(rank_of_gpu));
  SendPrices sends(program, classes, cluster, placement, network);
  Prices prices;
  prices.input_samples_per_ns = training.input_samples_per_s.value_or(0) * 1e-9;
  for (std::uint32_t process = 0; process < classes.size(); ++process) {
    PricedPool& pool = pools[static_cast<std::size_t>(std::max(0, pool_of[process]))];
    const Pricing pricing{program,
                          cluster.spec().nodes > 1,
                          pool.node.host_speed,
                          software,
                          pool.kernels,
                          collectives,
                          sends,
                          pool.gpu,
                          prices.loads,
                          process,
                          classes.all[process].speed};
    std::vector<std::vector<OperationPrice>> blocks;
    for (const strategies::Block& block : program.roles[classes.all[process].role].blocks) {
      blocks.push_back(price_block(block, pricing));
    }
    prices.of.push_back(std::move(blocks));
  }
  prices.classes = std::move(classes);
  return prices;
}

RankClasses folded_by_price(const strategies::Program& program, const RankClasses& singles,
                            const hw_models::Cluster& cluster, const hw_models::SoftwareSpec& software,
                            const strategies::Placement& placement) {
  const hw_models::Network network(cluster, hw_models::known_to_nccl(software.nccl));
  CollectivePrices collectives(program, singles, cluster, placement, network,
                               ranks_by_gpu(program, cluster, placement));
  SendPrices sends(program, singles, cluster, placement, network);
  const std::vector<std::vector<Communication>> communications = distinct_communications(program);
  std::map<std::vector<double>, std::uint32_t> numbers;  // by pool, times and loads
  std::vector<std::uint32_t> own(singles.size());
  for (std::uint32_t process = 0; process < singles.size(); ++process) {
    const RankClass& single = singles.all[process];
    const int gpu = placement.gpu[static_cast<std::size_t>(single.representative.value)];
    std::vector<double> times{static_cast<double>(cluster.pool_of(gpu))};
    for (const Communication& each : communications[single.role]) {
      const TransferPrice price = each.send ? sends.of(*each.send, process) : collectives.of(*each.collective, process);
      times.push_back(price.time.value());
      for (const Seconds busy : price.load.busy) times.push_back(busy.value());
      times.push_back(price.load.memory_bytes);
      times.push_back(price.load.channels);
    }
    const auto next = static_cast<std::uint32_t>(numbers.size());
    own[static_cast<std::size_t>(single.representative.value)] = numbers.try_emplace(times, next).first->second;
  }
  return folded(program, singles, own);
}

}  // namespace sim
