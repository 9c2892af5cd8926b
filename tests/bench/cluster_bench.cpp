// Goals on one core of an ordinary server: building 2048 nodes (16,384 GPUs) < 150 ms, a route < 20 us on average,
// the layouts of all groups of one family on 16,384 GPUs < 50 ms.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "hw_models/cluster.h"
#include "hw_models/network.h"

namespace {

hw_models::ClusterSpec dgx_h100(int nodes) {
  hw_models::ClusterSpec spec;
  spec.nodes = nodes;
  spec.node.scale_up_bandwidth = spec.node.pair_bandwidth = hw_models::BytesPerSecond(450e9);
  spec.node.nic_bandwidth = hw_models::BytesPerSecond(50e9);
  spec.node.pcie_bandwidth = hw_models::BytesPerSecond(55e9);
  return spec;
}

void build_cluster(benchmark::State& state) {
  const hw_models::ClusterSpec spec = dgx_h100(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(hw_models::Cluster(spec).links());
}
BENCHMARK(build_cluster)->Arg(2)->Arg(2048)->Arg(25'000)->Unit(benchmark::kMillisecond);

void route(benchmark::State& state) {
  const hw_models::Cluster cluster(dgx_h100(2048));
  std::uint32_t draw = 1;
  const auto next = [&draw, &cluster] {
    draw = draw * 1664525 + 1013904223;  // Numerical Recipes' generator
    return static_cast<int>(draw % static_cast<std::uint32_t>(cluster.gpus()));
  };
  for (auto _ : state) benchmark::DoNotOptimize(cluster.route(next(), next()));
}
BENCHMARK(route)->Unit(benchmark::kMicrosecond);

void family_layouts(benchmark::State& state) {
  const hw_models::Cluster cluster(dgx_h100(2048));
  const hw_models::Network network(cluster);
  std::vector<std::vector<int>> groups(static_cast<std::size_t>(state.range(0)));
  for (int gpu = 0; gpu < cluster.gpus(); ++gpu) {
    groups[static_cast<std::size_t>(gpu) % groups.size()].push_back(gpu);
  }
  for (auto _ : state) benchmark::DoNotOptimize(network.layouts(groups));
}
BENCHMARK(family_layouts)->Arg(1)->Arg(128)->Arg(8192)->Unit(benchmark::kMillisecond);

}  // namespace
