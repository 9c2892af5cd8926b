#include "strategies/pipeline/pass_costs.h"

#include <gtest/gtest.h>

namespace strategies {
namespace {

Operation compute(double seconds) {
  Operation operation;
  operation.work = Compute{hw_models::Measured{seconds}};
  return operation;
}

Operation send(std::int64_t bytes) {
  Operation operation;
  operation.work = Send{1, hw_models::Bytes(bytes), Payload::kActivation};
  operation.lane = Lane::kSendNext;
  return operation;
}

// 47 MB at 47 GB/s are a millisecond; messages are no part of the passes.
TEST(PassCosts, AddsWhatComputes) {
  Role role;
  Block forward, input, weight;
  forward.operations = {compute(0.002), compute(0.001), send(47'000'000)};
  input.operations = {compute(0.004)};
  weight.operations = {compute(0.0005)};
  const PassCosts costs = pass_costs(role, forward, input, weight);
  EXPECT_EQ(costs.forward, 3'000'000);
  EXPECT_EQ(costs.backward, 4'000'000);
  EXPECT_EQ(costs.weight, 500'000);
  EXPECT_EQ(costs.send, 1'000'000);
}

TEST(PassCosts, CountsTensorCollectives) {
  Role role;
  Operation reduce;
  Collective collective;
  collective.bytes = hw_models::Bytes(240'000'000);
  reduce.work = collective;
  reduce.lane = Lane::kTensor;
  Block forward, none;
  forward.operations = {reduce};
  reduce.lane = Lane::kData;  // runs beside
  forward.operations.push_back(reduce);
  EXPECT_EQ(pass_costs(role, forward, none, none).forward, 1'000'000);
}

// A forward keeps 30 + 12; the input gradients free the 30 and keep 5 more: 17 are left for the weight gradients.
TEST(PassCosts, CountsWhatOutlivesBlocks) {
  Role role;
  for (const std::int64_t bytes : {30, 12, 5}) {
    role.buffers.push_back({"kept", hw_models::Bytes(bytes), Holds::kActivations, Lifetime::kMicrobatch, {}});
  }
  role.buffers.push_back({"scratch", hw_models::Bytes(99), Holds::kWorkspace, Lifetime::kBlock, {}});
  Block forward, input, weight;
  forward.operations = {compute(1)};
  forward.operations[0].allocates = {{0}, {1}, {3}};
  input.operations = {compute(1)};
  input.operations[0].allocates = {{2}};
  input.operations[0].frees = {{0}};
  weight.operations = {compute(1)};
  weight.operations[0].frees = {{1}, {2}};
  const PassCosts costs = pass_costs(role, forward, input, weight);
  EXPECT_EQ(costs.kept, 42);
  EXPECT_EQ(costs.kept_for_weight, 17);
}

}  // namespace
}  // namespace strategies
