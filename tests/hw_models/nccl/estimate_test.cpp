#include "hw_models/nccl/estimate.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/hw_models/nccl/nccl_groups.h"

namespace hw_models {
namespace {

constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
constexpr Operation kOperations[] = {Operation::kAllReduce,  Operation::kReduceScatter, Operation::kAllGather,
                                     Operation::kBroadcast,  Operation::kReduce,        Operation::kAllToAll,
                                     Operation::kSendReceive};

double microseconds(Operation operation, std::int64_t bytes, const NcclSystem& system, const GroupLayout& layout,
                    bool reducible = true) {
  return nccl_estimate(operation, Bytes(bytes), {system, layout, reducible}).time.value() * 1e6;
}

// launch 10, step 2, bandwidth 0.5, ramp 140 us for 14 steps.
NcclSystem slow_system() {
  NcclSystem system = examples::hopper_system();
  system.node = {Seconds(10e-6), 2, 0.5, Seconds(140e-6)};
  system.fabric = {Seconds(5e-6), 3, Seconds(100e-6)};
  return system;
}

TEST(NcclEstimate, CorrectionsByHand) {
  const NcclSystem system = slow_system();
  const GroupLayout node = examples::hopper_layout(1), two = examples::hopper_layout(2);
  // Ring LL: 14 steps; (14 + 1/2) / 14 passes at half of 141 x 8 / 14 GB/s.
  EXPECT_NEAR(microseconds(Operation::kAllReduce, 8, system, node),
              10 + 2 * 14 * 0.6 + 8 * (14.5 / 14) / (141e3 * 8 / 14 / 2), 1e-9);
  // NVLS: no factor, no local pass; base 0 is 6.6 below that of LL; ramp at 32 MiB is half of it.
  const double half = 32.0 * kMiB;
  EXPECT_NEAR(microseconds(Operation::kAllReduce, 32 * kMiB, system, node),
              10 - 6.6 + 2 * 25 + half / (476e3 * 8 / 14) + 140 / 2, 1e-6);
  // int8: ring, which NCCL expects to be fastest under LL128.
  EXPECT_NEAR(microseconds(Operation::kAllReduce, 8 * kMiB, system, node, false),
              10 + 14 - 6.6 + 2 * 14 * 1.9 + 8.0 * kMiB * (14.5 / 14) / (0.92 * 360e3 * 8 / 14 / 2), 1e-6);
  // Two nodes: NVLS tree; launch of both, network steps x 3, the fabric's ramp for a depth of 1 + log2(2).
  EXPECT_NEAR(microseconds(Operation::kAllReduce, 32 * kMiB, system, two),
              15 - 6.6 + 2 * 25 + 3 * 2 * 20.9 + half / (8 * 57.7e3 * 16 / 30) + 2 * 100.0 / 2, 1e-6);
}

// All-gather over 4 nodes: 31 steps, 4 of them between nodes for the last piece; depth 31 / 14 of the ramp.
TEST(NcclEstimate, RingsOverNodesByHand) {
  const NcclSystem system = slow_system();
  const GroupLayout four = examples::hopper_layout(4);
  EXPECT_NEAR(microseconds(Operation::kAllGather, kGiB, system, four),
              15 + 1.8 + 2 * 27 * 3.4 + 3 * 4 * 14 + kGiB * (31.5 / 31) / (360e3 * 32 / 31 / 2) +
                  100 * (31.0 / 14) * kGiB / (kGiB + 32 * kMiB),
              1e-6);
}

TEST(NcclEstimate, LatenessIsAddedOnce) {
  const NcclSystem system = slow_system();
  GroupLayout late = examples::hopper_layout(4);
  late.lateness = Seconds(50e-6);
  for (const Operation operation : kOperations) {
    EXPECT_NEAR(microseconds(operation, kMiB, system, late),
                microseconds(operation, kMiB, system, examples::hopper_layout(4)) + 50, 1e-9);
  }
}

TEST(NcclEstimate, AllToAllByHand) {
  const NcclSystem system = slow_system();
  const GroupLayout node = examples::hopper_layout(1), two = examples::hopper_layout(2);
  // 1 KiB for each of 8: LL at half the rate; 7 connections; the own part is copied at 1 / 0.7 of the rate.
  EXPECT_NEAR(microseconds(Operation::kAllToAll, 8 * kKiB, system, node), 10 + 2 * 0.6 + 6 * 0.3 + kKiB * 7.7 / 90e3,
              1e-9);
  // 2 MiB for each of 16: 8 of them by a NIC of 50 GB/s; PXN: 7 near connections and one for the other node.
  EXPECT_NEAR(microseconds(Operation::kAllToAll, 32 * kMiB, system, two),
              15 + 8.4 - 6.6 + 3 * 14 + 7 * 0.3 + 2.0 * kMiB * 8 / 50e3 + 100 * (15.0 / 14) / 2, 1e-6);
}

TEST(NcclEstimate, SendReceiveByHand) {
  const NcclSystem system = slow_system();
  EXPECT_NEAR(nccl_send_receive(Bytes(16384), {system, examples::hopper_layout(1), true}).time.value() * 1e6,
              10 + 2 * 0.6 + 16384 / 90e3, 1e-9);
  const NcclEstimate far = nccl_send_receive(Bytes(32 * kMiB), {system, examples::hopper_layout(2), true});
  EXPECT_NEAR(far.time.value() * 1e6, 15 + 1.8 + 3 * 14 + 32.0 * kMiB / 50e3 + 100.0 / 14 / 2, 1e-6);
  EXPECT_TRUE(far.network_bound);
  EXPECT_NEAR(microseconds(Operation::kSendReceive, 32 * kMiB, system, examples::hopper_layout(2)),
              far.time.value() * 1e6, 1e-9);
}

TEST(NcclEstimate, NothingToDoIsFree) {
  const NcclSystem system = examples::hopper_system();
  for (const Operation operation : kOperations) {
    EXPECT_EQ(microseconds(operation, kGiB, system, GroupLayout{}), 0);
    EXPECT_EQ(microseconds(operation, 0, system, examples::hopper_layout(1)), 0);
  }
}

TEST(NcclEstimate, FourTimesTheBytesNeverTakeLess) {
  const NcclSystem system = slow_system();
  for (const Operation operation : kOperations) {
    for (const GroupLayout& layout :
         {examples::hopper_layout(1), examples::hopper_layout(2), examples::hopper_layout(64, 1)}) {
      for (std::int64_t bytes = 1; bytes < 16 * kGiB; bytes *= 2) {
        EXPECT_LT(microseconds(operation, bytes, system, layout), microseconds(operation, 4 * bytes, system, layout));
      }
    }
  }
}

TEST(NcclEstimate, AForcedChoiceThatIsNotOfferedIsIgnored) {
  const NcclSystem system = examples::hopper_system();
  const GroupLayout node = examples::hopper_layout(1);
  NcclChoice trees;
  trees.algorithms = *parse_nccl_algorithms("Tree");
  const NcclGroup group{system, node, true};
  EXPECT_EQ(nccl_estimate(Operation::kAllReduce, Bytes(8), group, trees).algorithm, NcclAlgorithm::kTree);
  EXPECT_EQ(nccl_estimate(Operation::kAllGather, Bytes(8), group, trees).algorithm, NcclAlgorithm::kRing);
}

}  // namespace
}  // namespace hw_models
