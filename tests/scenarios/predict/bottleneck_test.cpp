// Which part of the step is named, and whether the problem is one of speed, of capacity, or both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/predict/prediction.h"

namespace scenarios {
namespace {

using sim::TimeKind;
using testing::HasSubstr;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

/// tiny-cpu has 891,648 parameters; in bf16 with fp32 gradients and master weights 2 + 4 + 12 bytes each.
Scenario scenario(int data) {
  Scenario scenario;
  scenario.model = *Catalog().model("tiny-cpu");
  scenario.training.tokens = 1e9;
  scenario.plan.data = data;
  scenario.software.implementation.gradient = hw_models::DType::kFp32;
  scenario.software.implementation.master_weights = true;
  return scenario;
}

/// Fits with 1 GiB to spare; a run of `days`; all of the step is compute but the given parts (of 1 s).
Prediction prediction(double days, const std::vector<std::pair<TimeKind, double>>& parts = {}) {
  Prediction p;
  p.gpus = 8;
  p.run.days = days;
  p.memory.capacity_bytes = 80 * kGiB;
  p.memory.device_bytes = 79 * kGiB;
  p.result.step_ns = 1'000'000'000;
  std::int64_t compute = p.result.step_ns;
  for (const auto& [kind, share] : parts) {
    const std::int64_t ns = std::llround(share * 1e9);
    p.step.breakdown_ns[static_cast<std::size_t>(kind)] = ns;
    compute -= ns;
  }
  p.step.breakdown_ns[static_cast<std::size_t>(TimeKind::kCompute)] = compute;
  return p;
}

TEST(Bottleneck, EveryLossCanBeNamedWithItsOwnAdvice) {
  std::set<std::string> advice;
  int kinds = 0;
  for (int k = 0; k < sim::kTimeKinds; ++k) {
    const auto kind = static_cast<TimeKind>(k);
    if (kind == TimeKind::kCompute || kind == TimeKind::kOther) continue;
    const Bottleneck bottleneck = find_bottleneck(scenario(1), prediction(1, {{kind, 0.2}}));
    EXPECT_EQ(bottleneck.name, sim::name(kind));
    EXPECT_NE(bottleneck.advice, "");
    advice.insert(bottleneck.advice);
    ++kinds;
  }
  EXPECT_EQ(advice.size(), static_cast<std::size_t>(kinds));
}

TEST(Bottleneck, TheLargestLossCounts) {
  const auto p = prediction(1, {{TimeKind::kExposedData, 0.2}, {TimeKind::kBubble, 0.21}, {TimeKind::kHost, 0.15}});
  EXPECT_EQ(find_bottleneck(scenario(1), p).name, "bubble");
}

TEST(Bottleneck, ComputeWhenNoLossTakesATenth) {
  EXPECT_EQ(find_bottleneck(scenario(1), prediction(1)).name, "compute");
  EXPECT_EQ(find_bottleneck(scenario(1), prediction(1, {{TimeKind::kBubble, 0.0999}, {TimeKind::kHost, 0.09}})).name,
            "compute");
  EXPECT_EQ(find_bottleneck(scenario(1), prediction(1, {{TimeKind::kBubble, 0.1}})).name, "bubble");
}

// The step takes 1 s. Stages behind a starved first stage idle as bubble, but only the input can be improved.
TEST(Bottleneck, StarvedInputIsNamedWhateverTheStagesWaitFor) {
  Scenario fed_slowly = scenario(1);
  fed_slowly.training.global_batch = 100;
  const auto name = [&](double samples_per_s) {
    fed_slowly.training.input_samples_per_s = samples_per_s;
    return find_bottleneck(fed_slowly, prediction(1, {{TimeKind::kBubble, 0.5}, {TimeKind::kDataStall, 0.2}})).name;
  };
  EXPECT_EQ(name(100), "data_stall");
  EXPECT_EQ(name(125), "bubble") << "the input is there after 0.8 s";
}

TEST(Bottleneck, MemoryBeforeAnythingElse) {
  Prediction p = prediction(1, {{TimeKind::kBubble, 0.5}});
  p.memory.fits = false;
  p.memory.device_bytes = 92 * kGiB;
  const Bottleneck bottleneck = find_bottleneck(scenario(1), p);
  EXPECT_EQ(bottleneck.name, "memory");
  EXPECT_EQ(bottleneck.problem, "capacity");
  EXPECT_THAT(bottleneck.advice, HasSubstr("12.0 GiB too much"));
}

TEST(Bottleneck, SpeedWhenTheModelFitsOneGpu) {
  const Bottleneck bottleneck = find_bottleneck(scenario(4), prediction(10));
  EXPECT_EQ(bottleneck.problem, "speed");
  EXPECT_THAT(bottleneck.figures, HasSubstr("one GPU has 80 GiB"));
  EXPECT_THAT(bottleneck.figures, HasSubstr("would need 40.0 days for the tokens"));  // 10 days x 4 replicas
}

// 891,648 x 18 bytes = 15.3 MiB.
TEST(Bottleneck, CapacityWhenTheStateExceedsOneGpu) {
  Prediction p = prediction(2);
  p.memory.capacity_bytes = 891'648 * 18;
  EXPECT_EQ(find_bottleneck(scenario(4), p).problem, "speed") << "it just fits, and nothing else is wrong";
  --p.memory.capacity_bytes;
  EXPECT_EQ(find_bottleneck(scenario(4), p).problem, "capacity") << "one replica needs 8 days only";
}

TEST(Bottleneck, BothWhenOneReplicaIsTooBigAndTooSlow) {
  Prediction p = prediction(10);
  p.memory.capacity_bytes = 1 << 20;
  EXPECT_EQ(find_bottleneck(scenario(3), p).problem, "capacity") << "30 days are bearable";
  EXPECT_EQ(find_bottleneck(scenario(4), p).problem, "both");
}

TEST(Bottleneck, StateDependsOnPrecisionAndImplementation) {
  const auto state = [](const Scenario& each) {
    Prediction p = prediction(1);
    for (std::int64_t bytes = 1; bytes <= 32; ++bytes) {  // the smallest GPU, in bytes per parameter, that takes it
      p.memory.capacity_bytes = 891'648 * bytes;
      if (find_bottleneck(each, p).problem == "speed") return bytes;
    }
    return std::int64_t{-1};
  };
  Scenario mixed = scenario(1);
  EXPECT_EQ(state(mixed), 18);
  mixed.software.implementation.gradient = hw_models::DType::kBf16;
  EXPECT_EQ(state(mixed), 16);
  mixed.software.implementation.master_weights = false;
  EXPECT_EQ(state(mixed), 12);
  Scenario single = scenario(1);
  single.training.precision = hw_models::DType::kFp32;
  EXPECT_EQ(state(single), 16);  // weights, gradients and two moments
  single.training.optimizer = hw_models::OptimizerKind::kSgd;
  EXPECT_EQ(state(single), 8);  // weights and gradients
  mixed.software.implementation.master_weights = true;
  mixed.training.optimizer = hw_models::OptimizerKind::kSgd;
  EXPECT_EQ(state(mixed), 8);  // and the master copy
}

TEST(Bottleneck, LongTimesInYears) {
  EXPECT_THAT(find_bottleneck(scenario(10), prediction(365)).figures, HasSubstr("would need 10 years"));
}

TEST(Bottleneck, WithoutTokensReplicasSpeak) {
  Scenario open = scenario(2);
  open.training.tokens = 0;
  const Bottleneck bottleneck = find_bottleneck(open, prediction(0));
  EXPECT_EQ(bottleneck.problem, "speed");
  EXPECT_THAT(bottleneck.figures, testing::Not(HasSubstr("tokens")));
}

// Later stages idle as "imbalance" while the first one waits for its samples.
TEST(Bottleneck, InputThatTakesTheWholeStepIsNamed) {
  const Prediction slow = prediction(1, {{TimeKind::kImbalance, 0.6}, {TimeKind::kDataStall, 0.2}});
  Scenario starved = scenario(1);
  starved.training.global_batch = 64;
  starved.training.input_samples_per_s = 64;  // 1 s for a step of 1 s
  EXPECT_EQ(find_bottleneck(starved, slow).name, "data_stall");
  starved.training.input_samples_per_s = 128;
  EXPECT_EQ(find_bottleneck(starved, slow).name, "imbalance");
}

TEST(Bottleneck, NamesTheSlowRank) {
  Scenario slow = scenario(1);
  slow.faults.slow_gpus = {sim::SlowGpu{strategies::Rank{5}, 0.8}};
  EXPECT_THAT(find_bottleneck(slow, prediction(1, {{TimeKind::kStraggler, 0.2}})).advice, HasSubstr("rank 5"));
}

}  // namespace
}  // namespace scenarios
