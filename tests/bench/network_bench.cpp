// Goals on one core, Release:
//   HoldModel            >= 10 M events/s with 1,024 pending, >= 5 M/s with 16,384, >= 1 M/s with 262,144
//   UncontendedFlow      <= 1 us per flow, start to end
//   RandomPairs          <= 30 us per flow (goal 10): 8,192 flows of unequal sizes, 1,024 hosts, 32 per leaf
//   ChunkedRingAllReduce <= 2.5 s and <= 100 MB for 1,024 ranks: 2 (n-1) steps of n flows = 2.1 M flows
//   CoupledRingAllReduce has none; it is what a step simulation would pay once per kind of group
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "sim/collective_flows.h"
#include "sim/coupled_collective.h"
#include "sim/engine.h"
#include "sim/fluid_network.h"

namespace {

using hw_models::Bytes;
using hw_models::BytesPerSecond;
using sim::FluidNetwork;
using sim::LinkIndex;
using sim::LinkUse;

/// Classic hold model: take the earliest, schedule another at a random distance; `pending` stays the same.
void HoldModel(benchmark::State& state) {
  const auto pending = static_cast<std::uint64_t>(state.range(0));
  constexpr std::uint64_t kEvents = 4'000'000;
  std::mt19937_64 random(1);
  std::vector<std::int64_t> distance(1 << 16);
  for (std::int64_t& d : distance) d = static_cast<std::int64_t>(random() % 1'000'000);
  for ([[maybe_unused]] const auto _ : state) {
    sim::Engine run;
    std::uint64_t drawn = 0;
    for (std::uint64_t id = 0; id < pending; ++id) run.at(distance[drawn++ % distance.size()], id);
    run.run([&](sim::EventId id) {
      if (drawn < kEvents) run.at(run.now() + distance[drawn++ % distance.size()], id);
    });
    benchmark::DoNotOptimize(run.fingerprint());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kEvents));
}
BENCHMARK(HoldModel)->Arg(1'024)->Arg(16'384)->Arg(262'144)->Unit(benchmark::kMillisecond);

/// Every flow alone on its four links, a thousand under way at all times.
void UncontendedFlow(benchmark::State& state) {
  constexpr std::uint64_t kUnderWay = 1'024;
  constexpr std::uint64_t kFlows = 200'000;
  const std::vector<BytesPerSecond> capacities(4 * kUnderWay, BytesPerSecond(50e9));
  for ([[maybe_unused]] const auto _ : state) {
    sim::Engine engine;
    FluidNetwork network(engine, capacities, 0);
    std::uint64_t started = 0;
    const auto start = [&](std::uint64_t place) {
      const auto link = static_cast<LinkIndex>(4 * place);
      const std::array<LinkUse, 4> uses{{{link, 1}, {link + 1, 1}, {link + 2, 1}, {link + 3, 1}}};
      const auto bytes = static_cast<std::int64_t>(1'000'000 + started * 7'919 % 30'011);
      network.start({.work = Bytes(bytes), .uses = uses, .tag = place, .latency_ns = 1'000});
      ++started;
    };
    for (std::uint64_t place = 0; place < kUnderWay; ++place) start(place);
    engine.run([&](sim::EventId id) {
      network.handle(id, [&](std::uint64_t place) {
        if (started < kFlows) start(place);
      });
    });
    benchmark::DoNotOptimize(engine.now());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kFlows));
}
BENCHMARK(UncontendedFlow)->Unit(benchmark::kMillisecond);

/// Two tiers: links of hosts up, hosts down, leaves up, leaves down. All flows start at once; sizes are uniform between
/// 1 and `range(0)` MB.
void RandomPairs(benchmark::State& state) {
  constexpr std::uint32_t kHosts = 1'024, kPerLeaf = 32, kFlows = 8'192;
  std::vector<BytesPerSecond> capacities(2 * kHosts, BytesPerSecond(50e9));
  capacities.resize(2 * kHosts + 2 * kHosts / kPerLeaf,
                    BytesPerSecond(50e9 * kPerLeaf / static_cast<double>(state.range(1))));
  std::uint64_t solves = 0;
  for ([[maybe_unused]] const auto _ : state) {
    std::mt19937_64 random(1);
    sim::Engine engine;
    FluidNetwork network(engine, capacities, 0);
    for (std::uint64_t flow = 0; flow < kFlows; ++flow) {
      const auto from = static_cast<LinkIndex>(random() % kHosts);
      auto to = static_cast<LinkIndex>(random() % kHosts);
      while (to == from) to = static_cast<LinkIndex>(random() % kHosts);
      const LinkIndex up = 2 * kHosts + from / kPerLeaf, down = 2 * kHosts + kHosts / kPerLeaf + to / kPerLeaf;
      std::vector<LinkUse> uses{{from, 1}, {kHosts + to, 1}};
      if (from / kPerLeaf != to / kPerLeaf) uses.insert(uses.end(), {{up, 1}, {down, 1}});
      const std::int64_t span = state.range(0) * 1'000'000 - 999'999;
      const auto bytes = static_cast<std::int64_t>(1'000'000 + random() % static_cast<std::uint64_t>(span));
      network.start({.work = Bytes(bytes), .uses = uses, .tag = flow});
    }
    engine.run([&](sim::EventId id) { network.handle(id, [](std::uint64_t) {}); });
    benchmark::DoNotOptimize(engine.fingerprint());
    solves = network.solves();
  }
  state.counters["solves"] = static_cast<double>(solves);
  state.SetItemsProcessed(state.iterations() * kFlows);  // flows; 100 k/s are 10 us each
}
BENCHMARK(RandomPairs)
    ->ArgNames({"max_MB", "oversubscription"})
    ->Args({16, 1})
    ->Args({2, 1})
    ->Args({16, 4})
    ->Unit(benchmark::kMillisecond);

hw_models::ClusterSpec eight_gpu_nodes(int nodes) {
  hw_models::ClusterSpec spec;  // rails of one NIC per GPU
  spec.nodes = nodes;
  spec.node.scale_up_bandwidth = spec.node.pair_bandwidth = BytesPerSecond(450e9);
  spec.node.scale_up_latency = hw_models::Seconds(0.6e-6);
  spec.node.nic_bandwidth = BytesPerSecond(50e9);
  spec.node.pcie_bandwidth = BytesPerSecond(50e9);
  spec.node.pcie_latency = hw_models::Seconds(0.4e-6);
  spec.fabric.switch_latency = hw_models::Seconds(0.2e-6);
  spec.fabric.endpoint_latency = hw_models::Seconds(1e-6);
  return spec;
}

sim::GroupCollective ring_all_reduce(const hw_models::Cluster& cluster, std::int64_t bytes) {
  std::vector<int> gpus(static_cast<std::size_t>(cluster.gpus()));
  std::iota(gpus.begin(), gpus.end(), 0);
  return {strategies::find_collective_algorithm("ring"), {}, Bytes(bytes), std::move(gpus)};
}

/// From the cluster and the algorithm's steps to the last message: one channel, one slice, 1 MB messages. Not a number
/// is taken from symmetry.
void ChunkedRingAllReduce(benchmark::State& state) {
  const hw_models::Cluster cluster(eight_gpu_nodes(static_cast<int>(state.range(0)) / 8));
  const sim::GroupCollective ring = ring_all_reduce(cluster, state.range(0) * 1'000'000);
  sim::CollectiveTimes times;
  for ([[maybe_unused]] const auto _ : state) times = sim::run_collectives(cluster, {&ring, 1});
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MB"] = static_cast<double>(usage.ru_maxrss) * 1024e-6;  // of the whole process so far
  state.counters["simulated_ms"] = static_cast<double>(times.end_ns.front()) * 1e-6;
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(times.flows));
}
BENCHMARK(ChunkedRingAllReduce)->Arg(64)->Arg(1'024)->Unit(benchmark::kMillisecond);

/// The same ring as one activity.
void CoupledRingAllReduce(benchmark::State& state) {
  const hw_models::Cluster cluster(eight_gpu_nodes(static_cast<int>(state.range(0)) / 8));
  const sim::GroupCollective ring = ring_all_reduce(cluster, state.range(0) * 1'000'000);
  for ([[maybe_unused]] const auto _ : state) {
    benchmark::DoNotOptimize(sim::coupled_collective(cluster, ring).latency_ns);
  }
}
BENCHMARK(CoupledRingAllReduce)->Arg(64)->Arg(1'024)->Unit(benchmark::kMillisecond);

}  // namespace
