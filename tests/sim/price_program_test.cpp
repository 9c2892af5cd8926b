#include "sim/price_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hw_models/kernel_time.h"
#include "hw_models/network.h"

namespace sim {
namespace {

using hw_models::Bytes;
using hw_models::BytesPerSecond;
using hw_models::Seconds;
using strategies::CollectiveKind;
using strategies::GroupId;
using strategies::HostReason;
using strategies::Work;

constexpr GroupId kTensorGroup{0}, kDataGroup{1};
constexpr Bytes kMegabyte(1'000'000);

hw_models::ClusterSpec eight_gpu_nodes(int nodes, int nics) {
  hw_models::ClusterSpec spec;
  spec.nodes = nodes;
  spec.node.gpus = spec.node.scale_up_domain = 8;
  spec.node.scale_up_bandwidth = spec.node.pair_bandwidth = BytesPerSecond(450e9);
  spec.node.scale_up_latency = Seconds(1e-6);
  spec.node.nics = nics;
  spec.node.nic_bandwidth = BytesPerSecond(50e9);
  spec.node.pcie_bandwidth = BytesPerSecond(63e9);
  spec.node.pcie_latency = Seconds(0.5e-6);
  spec.fabric.switch_latency = Seconds(0.5e-6);
  spec.fabric.endpoint_latency = Seconds(3e-6);
  return spec;
}

hw_models::GpuSpec h100() {
  hw_models::GpuSpec gpu;
  gpu.multiprocessors = 132;
  gpu.matrix_peak[static_cast<std::size_t>(hw_models::DType::kBf16)] = hw_models::FlopsPerSecond(989.4e12);
  gpu.memory_bandwidth = BytesPerSecond(3.35e12);
  return gpu;
}

hw_models::SoftwareSpec software() {
  hw_models::SoftwareSpec spec;
  spec.kernel_launch = Seconds(5e-6);
  spec.collective_launch = Seconds(20e-6);
  spec.synchronize = Seconds(15e-6);
  spec.step_overhead = Seconds(3e-3);
  spec.kernel_gap = Seconds(1e-6);
  return spec;
}

strategies::Collective collective(CollectiveKind kind, GroupId group, Bytes bytes) {
  strategies::Collective work;
  work.kind = kind;
  work.group = group;
  work.bytes = bytes;
  return work;
}

strategies::Collective all_reduce(GroupId group, Bytes bytes = kMegabyte) {
  return collective(CollectiveKind::kAllReduce, group, bytes);
}

/// tensor x data x 2 stages; both roles hold one block with `work`.
strategies::Program two_stages(int tensor, int data, const std::vector<Work>& work) {
  strategies::Program program;
  program.views = {{{{"tp", tensor}, {"dp", data}, {"pp", 2}}}};
  program.groups = {{"tensor", 0, {{0, {}}}}, {"data", 0, {{1, {}}}}};
  program.stage_of_virtual = {0, 1};
  strategies::Block block;
  for (const Work& item : work) block.operations.emplace_back().work = item;
  for (int stage = 0; stage < 2; ++stage) {
    strategies::Role& role = program.roles.emplace_back();
    role.name = "stage " + std::to_string(stage);
    role.stage = stage;
    role.blocks = {block};
    program.role_of_rank.insert(program.role_of_rank.end(), static_cast<std::size_t>(tensor * data),
                                static_cast<std::uint32_t>(stage));
  }
  return program;
}

Prices price(const strategies::Program& program, const hw_models::Cluster& cluster,
             const strategies::Placement& placement) {
  return price_program(program, classes_by_role(program), cluster, h100(), software(), placement, {});
}

Prices price(const strategies::Program& program, const hw_models::Cluster& cluster) {
  return price(program, cluster, strategies::packed(program));
}

std::int64_t rounded_up(Seconds time) { return static_cast<std::int64_t>(std::ceil(time.value() * 1e9)); }

TEST(PriceProgram, ComputeIsTheKernelAndTheGap) {
  const hw_models::Matmul matmul{.m = 4096, .n = 4096, .k = 4096};
  const hw_models::Cluster cluster(eight_gpu_nodes(2, 8));
  const Prices prices = price(two_stages(2, 4, {strategies::Compute{matmul}, strategies::Compute{matmul}}), cluster);
  const hw_models::KernelCost cost = hw_models::kernel_cost(matmul, h100());
  ASSERT_EQ(prices.of.size(), 2U);
  for (const std::uint32_t operation : {0U, 1U}) {
    const OperationPrice& found = prices.at(1, 0, {operation});
    EXPECT_EQ(found.issue_ns, 5000);
    EXPECT_EQ(found.duration_ns, rounded_up(cost.time + Seconds(1e-6)));
    EXPECT_EQ(found.flops, 2.0 * 4096 * 4096 * 4096);
  }
}

TEST(PriceProgram, HostWorkAndReceives) {
  struct Case {
    Work work;
    std::int64_t issue_ns, duration_ns;
  };
  const std::vector<Case> cases{{strategies::Host{HostReason::kLossRead}, 0, 15'000},
                                {strategies::Host{HostReason::kGradientNorm}, 0, 15'000},
                                {strategies::Host{HostReason::kBlockingSend}, 0, 15'000},
                                {strategies::Host{HostReason::kBlockingReceive}, 0, 15'000},
                                {strategies::Host{HostReason::kBlockingLaunch}, 0, 15'000},
                                {strategies::Host{HostReason::kStepOverhead}, 0, 3'000'000},
                                {strategies::Host{HostReason::kInput, 4}, 0, 0},
                                {strategies::Receive{0, kMegabyte}, 20'000, 0}};
  const hw_models::Cluster cluster(eight_gpu_nodes(2, 8));
  for (const Case& expected : cases) {
    const Prices prices = price(two_stages(2, 4, {expected.work}), cluster);
    EXPECT_NEAR(static_cast<double>(prices.at(0, 0, {0}).issue_ns), static_cast<double>(expected.issue_ns), 1);
    EXPECT_NEAR(static_cast<double>(prices.at(0, 0, {0}).duration_ns), static_cast<double>(expected.duration_ns), 1);
  }
}

/// Collectives of a job on several nodes cost the host something for every member.
TEST(PriceProgram, MembersOfCollectivesCostTheHost) {
  strategies::Program program = two_stages(2, 2, {all_reduce(kTensorGroup), all_reduce(kDataGroup)});
  for (strategies::Role& role : program.roles) {
    role.blocks[0].operations[0].lane = strategies::Lane::kTensor;
    role.blocks[0].operations[1].lane = strategies::Lane::kData;
  }
  hw_models::SoftwareSpec stack = software();
  stack.collective_member = Seconds(100e-6);
  const auto issue_ns = [&](const hw_models::Cluster& cluster, std::uint32_t operation) {
    const Prices prices =
        price_program(program, classes_by_role(program), cluster, h100(), stack, strategies::packed(program), {});
    return static_cast<double>(prices.at(0, 0, {operation}).issue_ns);
  };
  const hw_models::Cluster two_nodes(eight_gpu_nodes(2, 8)), one_node(eight_gpu_nodes(1, 8));
  EXPECT_NEAR(issue_ns(two_nodes, 0), 20'000 + 2 * 100'000, 2);
  EXPECT_NEAR(issue_ns(two_nodes, 1), 20'000 + 2 * 100'000, 2);
  EXPECT_NEAR(issue_ns(one_node, 0), 20'000, 2);
}

/// Pieces of 3 tensors, one per member of 4, are copied around the collectives of a sharded optimizer only.
TEST(PriceProgram, ShardsAreCopiedOneByOne) {
  struct Case {
    CollectiveKind kind;
    strategies::Lane lane;
    double host_us;  ///< beyond the launch
  };
  const std::vector<Case> cases{{CollectiveKind::kAllGather, strategies::Lane::kGather, 120},
                                {CollectiveKind::kReduceScatter, strategies::Lane::kData, 120},
                                {CollectiveKind::kAllReduce, strategies::Lane::kData, 400},
                                {CollectiveKind::kReduceScatter, strategies::Lane::kTensor, 400}};
  hw_models::SoftwareSpec stack = software();
  stack.shard_copy = Seconds(10e-6);
  stack.collective_member = Seconds(100e-6);
  for (const Case& expected : cases) {
    strategies::Program program = two_stages(2, 4, {collective(expected.kind, kDataGroup, kMegabyte)});
    for (strategies::Role& role : program.roles) {
      role.blocks[0].operations[0].lane = expected.lane;
      role.blocks[0].operations[0].writes = {{0}, {1}, {2}};
    }
    const Prices prices = price_program(program, classes_by_role(program), hw_models::Cluster(eight_gpu_nodes(2, 8)),
                                        h100(), stack, strategies::packed(program), {});
    EXPECT_NEAR(static_cast<double>(prices.at(0, 0, {0}).issue_ns), 20'000 + expected.host_us * 1'000, 2)
        << name(expected.kind);
  }
}

/// 16 ranks: matrix products at the pace of the slowest of 16 GPUs, H_16 - 1 = 2.380729 spreads behind the average.
TEST(PriceProgram, TheSlowestGpuSetsThePace) {
  const hw_models::Matmul matmul{.m = 8192, .n = 8192, .k = 8192};
  const hw_models::Norm norm{.rows = 4096, .columns = 4096};
  const strategies::Program program = two_stages(2, 4, {strategies::Compute{matmul}, strategies::Compute{norm}});
  const hw_models::Cluster cluster(eight_gpu_nodes(2, 8));
  hw_models::GpuSpec spread = h100(), slow = h100();
  spread.speed_spread = 0.02;
  slow.matrix_efficiency /= 1 + 0.02 * 2.380729;
  const auto priced = [&](const hw_models::GpuSpec& gpu, std::uint32_t operation) {
    return price_program(program, classes_by_role(program), cluster, gpu, software(), strategies::packed(program), {})
        .at(0, 0, {operation});
  };
  EXPECT_NEAR(static_cast<double>(priced(spread, 0).duration_ns), static_cast<double>(priced(slow, 0).duration_ns), 2);
  EXPECT_GT(priced(spread, 0).duration_ns, priced(h100(), 0).duration_ns);
  EXPECT_EQ(priced(spread, 1).duration_ns, priced(h100(), 1).duration_ns);
}

TEST(PriceProgram, SlowHostsTakeLongerToLaunch) {
  hw_models::ClusterSpec nodes = eight_gpu_nodes(2, 8);
  nodes.node.host_speed = 0.5;
  const strategies::Compute norm{hw_models::Norm{.rows = 64, .columns = 64}};
  const Prices prices = price(two_stages(2, 4, {norm, all_reduce(kTensorGroup)}), hw_models::Cluster(nodes));
  EXPECT_NEAR(static_cast<double>(prices.at(0, 0, {0}).issue_ns), 10'000, 1);
  EXPECT_NEAR(static_cast<double>(prices.at(0, 0, {1}).issue_ns), 40'000, 1);
}

TEST(PriceProgram, GraphBlockPaysOneLaunch) {
  const strategies::Compute norm{hw_models::Norm{.rows = 64, .columns = 64}};
  const strategies::Collective reduce = all_reduce(kTensorGroup);
  strategies::Program program = two_stages(2, 4, {strategies::Host{HostReason::kInput}, norm, reduce, norm});
  program.roles[1].blocks[0].graph = true;
  const Prices prices = price(program, hw_models::Cluster(eight_gpu_nodes(2, 8)));
  const std::vector<std::int64_t> without{0, 5000, 20000, 5000}, with{0, 5000, 0, 0};
  for (std::uint32_t operation = 0; operation < 4; ++operation) {
    EXPECT_NEAR(static_cast<double>(prices.at(0, 0, {operation}).issue_ns), static_cast<double>(without[operation]), 1);
    EXPECT_NEAR(static_cast<double>(prices.at(1, 0, {operation}).issue_ns), static_cast<double>(with[operation]), 1);
    EXPECT_EQ(prices.at(0, 0, {operation}).duration_ns, prices.at(1, 0, {operation}).duration_ns);
  }
}

TEST(PriceProgram, EveryCollectiveKindGoesToItsOperation) {
  const std::vector<std::pair<CollectiveKind, hw_models::Operation>> kinds{
      {CollectiveKind::kAllReduce, hw_models::Operation::kAllReduce},
      {CollectiveKind::kReduceScatter, hw_models::Operation::kReduceScatter},
      {CollectiveKind::kAllGather, hw_models::Operation::kAllGather},
      {CollectiveKind::kBroadcast, hw_models::Operation::kBroadcast},
      {CollectiveKind::kReduce, hw_models::Operation::kReduce},
      {CollectiveKind::kAllToAll, hw_models::Operation::kAllToAll},
      {CollectiveKind::kShiftNext, hw_models::Operation::kSendReceive},
      {CollectiveKind::kShiftPrevious, hw_models::Operation::kSendReceive}};
  const hw_models::Cluster cluster(eight_gpu_nodes(2, 8));
  const hw_models::Network network(cluster);
  const std::vector<std::vector<int>> pairs{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}};
  const hw_models::GroupLayout layout = network.layouts(pairs).front();
  for (const auto& [kind, operation] : kinds) {
    const OperationPrice found =
        price(two_stages(2, 4, {collective(kind, kTensorGroup, kMegabyte)}), cluster).at(0, 0, {0});
    const hw_models::CollectiveEstimate expected = network.collective(operation, kMegabyte, layout);
    EXPECT_EQ(found.duration_ns, rounded_up(expected.time)) << name(kind);
    EXPECT_STREQ(found.algorithm, expected.algorithm) << name(kind);
    EXPECT_GT(found.duration_ns, 0) << name(kind);
  }
}

TEST(PriceProgram, SlowestGroupOfTheRoleDecides) {
  const strategies::Collective reduce = all_reduce(kTensorGroup);
  const strategies::Program program = two_stages(2, 4, {reduce});
  const hw_models::Cluster cluster(eight_gpu_nodes(3, 8));
  strategies::Placement placement = strategies::packed(program);
  placement.gpu[0] = 16;  // the first group of stage 0 now spans two nodes
  const Prices prices = price(program, cluster, placement);
  const hw_models::Network network(cluster);
  const auto layouts = network.layouts(strategies::placed_groups(program, kTensorGroup, placement));
  const auto time = [&](std::size_t group) {
    return rounded_up(network.collective(hw_models::Operation::kAllReduce, kMegabyte, layouts[group]).time);
  };
  EXPECT_GT(time(0), time(1));
  EXPECT_EQ(prices.at(0, 0, {0}).duration_ns, time(0));
  EXPECT_EQ(prices.at(1, 0, {0}).duration_ns, time(4));
}

TEST(PriceProgram, LargestMemberDecidesAnUnevenExchange) {
  const strategies::Collective even = collective(CollectiveKind::kAllToAll, kDataGroup, Bytes(3'000'000));
  strategies::Collective uneven = even;
  uneven.bytes = kMegabyte;
  uneven.member_bytes = {kMegabyte, Bytes(3'000'000), kMegabyte, Bytes(0)};
  const Prices prices = price(two_stages(2, 4, {even, uneven}), hw_models::Cluster(eight_gpu_nodes(2, 8)));
  EXPECT_EQ(prices.at(0, 0, {0}).duration_ns, prices.at(0, 0, {1}).duration_ns);
}

TEST(PriceProgram, SendersOfOneNodeShareItsNics) {
  const strategies::Program program = two_stages(2, 4, {strategies::Send{1, Bytes(100'000'000)}});
  for (const auto& [nics, sharers] : std::vector<std::pair<int, int>>{{8, 1}, {4, 2}, {2, 4}, {1, 8}}) {
    const hw_models::Cluster cluster(eight_gpu_nodes(2, nics));
    const hw_models::Network network(cluster);
    const OperationPrice found = price(program, cluster).at(0, 0, {0});
    Seconds slowest{};
    for (int gpu = 0; gpu < 8; ++gpu) {
      slowest = std::max(slowest, network.send(Bytes(100'000'000), gpu, gpu + 8, sharers));
    }
    EXPECT_EQ(found.duration_ns, rounded_up(slowest)) << nics << " NICs";
    EXPECT_NEAR(static_cast<double>(found.issue_ns), 20'000, 1);
  }
}

// NIC 2 of the receivers' node is dead: two messages arrive at NIC 3 and share it, though each leaves by its own.
TEST(PriceProgram, ReceiversShareNicsToo) {
  const strategies::Program program = two_stages(2, 4, {strategies::Send{1, Bytes(100'000'000)}});
  hw_models::ClusterSpec spec = eight_gpu_nodes(2, 8);
  spec.dead_nics = {{1, 2}};
  const hw_models::Cluster cluster(spec);
  const hw_models::Network network(cluster);
  const Prices prices =
      price_program(program, single_ranks(program), cluster, h100(), software(), strategies::packed(program), {});
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    const int gpu = static_cast<int>(rank);
    const int sharers = rank == 2 || rank == 3 ? 2 : 1;
    EXPECT_EQ(prices.at(rank, 0, {0}).duration_ns, rounded_up(network.send(Bytes(100'000'000), gpu, gpu + 8, sharers)));
  }
}

TEST(PriceProgram, SendInsideANodeUsesTheScaleUpLinks) {
  const strategies::Program program = two_stages(2, 2, {strategies::Send{1, Bytes(100'000'000)}});
  const hw_models::Cluster cluster(eight_gpu_nodes(1, 0));
  const hw_models::Network network(cluster);
  EXPECT_EQ(price(program, cluster).at(0, 0, {0}).duration_ns, rounded_up(network.send(Bytes(100'000'000), 0, 4)));
}

TEST(PriceProgram, WorstPathOfTheRoleDecidesASend) {
  const strategies::Program program = two_stages(1, 2, {strategies::Send{1, Bytes(100'000'000)}});
  const hw_models::Cluster cluster(eight_gpu_nodes(2, 8));
  const hw_models::Network network(cluster);
  const strategies::Placement placement{{0, 1, 2, 8}};  // ranks 0 -> 2 on one node, 1 -> 3 between nodes
  EXPECT_EQ(price(program, cluster, placement).at(0, 0, {0}).duration_ns,
            rounded_up(network.send(Bytes(100'000'000), 1, 8)));
}

TEST(PriceProgram, InputRateIsPassedOn) {
  const strategies::Program program = two_stages(2, 4, {});
  const hw_models::Cluster cluster(eight_gpu_nodes(2, 8));
  const auto rate = [&](const strategies::TrainingSpec& training) {
    return price_program(program, classes_by_role(program), cluster, h100(), software(), strategies::packed(program),
                         training)
        .input_samples_per_ns;
  };
  EXPECT_EQ(rate({}), 0);
  EXPECT_DOUBLE_EQ(rate({.input_samples_per_s = 250}), 250e-9);
}

TEST(PriceProgram, ImpossibleInputIsRefused) {
  const hw_models::Cluster cluster(eight_gpu_nodes(2, 8));
  strategies::Collective forced = all_reduce(kTensorGroup);
  forced.algorithm = "ring";
  const std::vector<Work> refused{
      strategies::Checkpoint{kMegabyte},
      forced,
      strategies::Compute{hw_models::Matmul{.m = 1'000'000'000'000, .n = 1'000'000'000'000, .k = 1'000'000'000'000}},
      strategies::Compute{hw_models::Matmul{.dtype = hw_models::DType::kNvfp4}},
      strategies::Compute{hw_models::Measured{.seconds = -1}},
      strategies::Compute{hw_models::Measured{.seconds = std::nan("")}}};
  for (const Work& work : refused) EXPECT_THROW(price(two_stages(2, 4, {work}), cluster), std::invalid_argument);
}

TEST(PriceProgram, RoleOutsideAllGroupsIsRefused) {
  strategies::Program program = two_stages(2, 4, {all_reduce(kDataGroup)});
  program.groups[1].spans.push_back({2, {0}});  // stage 0 only
  EXPECT_THROW(price(program, hw_models::Cluster(eight_gpu_nodes(2, 8))), std::invalid_argument);
}

TEST(PriceProgram, PlacementMustGiveEveryRankItsGpu) {
  const strategies::Program program = two_stages(1, 2, {});
  const hw_models::Cluster cluster(eight_gpu_nodes(2, 8));
  for (const std::vector<int>& gpus : {std::vector<int>{0, 1, 2}, {0, 1, 2, 2}, {0, 1, 2, 16}, {0, 1, 2, -1}}) {
    EXPECT_THROW(price(program, cluster, {gpus}), std::invalid_argument);
  }
  EXPECT_NO_THROW(price(program, cluster, {{0, 1, 2, 15}}));
}

TEST(PriceProgram, SixteenThousandRanks) {
  const strategies::Collective reduce = all_reduce(kDataGroup, Bytes(1'000'000'000));
  const strategies::Program program = two_stages(8, 1024, {reduce, strategies::Send{1, kMegabyte}});
  const hw_models::Cluster cluster(eight_gpu_nodes(2048, 8));
  const Prices prices = price(program, cluster);
  // A ring of 1,024 ranks over one NIC each: 2 S / B at least.
  EXPECT_GT(prices.at(0, 0, {0}).duration_ns, 2e9 * 1023 / 1024 / 50);
  EXPECT_GT(prices.at(0, 0, {1}).duration_ns, 1e6 / 50);
  EXPECT_EQ(prices.at(0, 0, {0}).duration_ns, prices.at(1, 0, {0}).duration_ns);
}

TEST(PriceProgram, ASlowClassComputesLonger) {
  const hw_models::Matmul matmul{.m = 4096, .n = 4096, .k = 4096};
  const strategies::Program program = two_stages(1, 2, {strategies::Compute{matmul}, all_reduce(kDataGroup)});
  const hw_models::Cluster cluster(eight_gpu_nodes(1, 8));
  const RankClasses ranks = single_ranks(program, {SlowGpu{strategies::Rank{1}, 0.5}});
  const Prices prices = price_program(program, ranks, cluster, h100(), software(), strategies::packed(program), {});
  const hw_models::KernelCost cost = hw_models::kernel_cost(matmul, h100());
  EXPECT_EQ(prices.at(0, 0, {0}).duration_ns, rounded_up(cost.time + Seconds(1e-6)));
  EXPECT_EQ(prices.at(1, 0, {0}).duration_ns, rounded_up(cost.time / 0.5 + Seconds(1e-6)));
  EXPECT_EQ(prices.at(0, 0, {1}).duration_ns, prices.at(1, 0, {1}).duration_ns);
}

// 2.16 has no in-switch reduction: eight GPUs of a node reduce on rings.
TEST(PriceProgram, TheStackSaysWhichNcclItHas) {
  const strategies::Program program = two_stages(1, 8, {all_reduce(kDataGroup, Bytes(100'000'000))});
  const hw_models::Cluster cluster(eight_gpu_nodes(2, 8));
  hw_models::SoftwareSpec old = software();
  old.nccl = 16;
  const auto algorithm = [&](const hw_models::SoftwareSpec& stack) {
    const auto placement = strategies::packed(program);
    return std::string(price_program(program, classes_by_role(program), cluster, h100(), stack, placement, {})
                           .at(0, 0, {0})
                           .algorithm);
  };
  EXPECT_EQ(algorithm(software()), "NVLS");
  EXPECT_EQ(algorithm(old), "Ring");
}

// Ranks 0 -> 2 on one node, 1 -> 3 between nodes; the groups of two are {0, 1} inside and {2, 3} between nodes.
TEST(PriceProgram, SingleRanksPayForTheirOwnRoute) {
  const strategies::Program program =
      two_stages(1, 2, {strategies::Send{1, Bytes(100'000'000)}, all_reduce(kDataGroup)});
  const hw_models::Cluster cluster(eight_gpu_nodes(2, 8));
  const hw_models::Network network(cluster);
  const strategies::Placement placement{{0, 1, 2, 8}};
  const RankClasses ranks = single_ranks(program);
  const Prices prices = price_program(program, ranks, cluster, h100(), software(), placement, {});
  EXPECT_EQ(prices.at(0, 0, {0}).duration_ns, rounded_up(network.send(Bytes(100'000'000), 0, 2)));
  EXPECT_EQ(prices.at(1, 0, {0}).duration_ns, rounded_up(network.send(Bytes(100'000'000), 1, 8)));
  EXPECT_LT(prices.at(0, 0, {1}).duration_ns, prices.at(2, 0, {1}).duration_ns);
  EXPECT_EQ(folded_by_price(program, ranks, cluster, software(), placement).size(), 3U);  // stage 1 receives nothing
  EXPECT_EQ(folded_by_price(program, ranks, cluster, software(), {{0, 1, 8, 9}}).size(), 2U);
}

// One rank of each stage on a node with slower GPUs, a slower host and slower NICs.
TEST(PriceProgram, EveryPoolHasItsOwnGpusHostsAndPorts) {
  const hw_models::Matmul matmul{.m = 4096, .n = 4096, .k = 4096};
  const strategies::Program program =
      two_stages(1, 2, {strategies::Compute{matmul}, all_reduce(kDataGroup, Bytes(100'000'000))});
  const hw_models::ClusterSpec plain = eight_gpu_nodes(2, 8);
  hw_models::NodePool fast{plain.node, h100(), 1}, slow = fast;
  slow.gpu.matrix_peak[static_cast<std::size_t>(hw_models::DType::kBf16)] = hw_models::FlopsPerSecond(312e12);
  slow.gpu.speed_spread = 0.1;
  slow.node.host_speed = 0.5;
  slow.node.nic_bandwidth = BytesPerSecond(25e9);
  const hw_models::Cluster cluster(hw_models::mixed_cluster({fast, slow}, plain.fabric));
  const strategies::Placement placement{{0, 8, 1, 9}};
  const RankClasses ranks = single_ranks(program);
  const Prices prices = price_program(program, ranks, cluster, h100(), software(), placement, {});
  const auto kernel = [&](const hw_models::GpuSpec& gpu) {
    return rounded_up(hw_models::kernel_cost(matmul, gpu).time + software().kernel_gap);
  };
  EXPECT_EQ(prices.at(0, 0, {0}).duration_ns, kernel(h100()));
  hw_models::GpuSpec slowest_of_two = slow.gpu;  // ranks 1 and 3 sit on GPUs of this kind
  slowest_of_two.matrix_efficiency /= 1 + 0.1 * 0.5;
  EXPECT_EQ(prices.at(1, 0, {0}).duration_ns, kernel(slowest_of_two));
  EXPECT_EQ(prices.at(1, 0, {0}).issue_ns, 2 * prices.at(0, 0, {0}).issue_ns);
  // The collective takes as long for both; it fills the slow NIC and half of the fast one.
  EXPECT_EQ(prices.at(0, 0, {1}).duration_ns, prices.at(1, 0, {1}).duration_ns);
  const auto nic = static_cast<std::size_t>(hw_models::Port::kNicOut);
  const double fast_nic = prices.loads.all[prices.at(0, 0, {1}).load].ports[nic];
  const double slow_nic = prices.loads.all[prices.at(1, 0, {1}).load].ports[nic];
  EXPECT_NEAR(fast_nic / slow_nic, 0.5, 1e-3);
  EXPECT_EQ(folded_by_price(program, ranks, cluster, software(), placement).size(), 4U);
  EXPECT_THROW(price_program(program, classes_by_role(program), cluster, h100(), software(), placement, {}),
               std::invalid_argument);
}

}  // namespace
}  // namespace sim
