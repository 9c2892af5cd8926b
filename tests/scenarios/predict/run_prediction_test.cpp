// Days, cost and energy of the whole run, by hand.
#include <gtest/gtest.h>

#include "scenarios/predict/prediction.h"

namespace scenarios {
namespace {

using sim::TimeKind;

/// 16 GPUs in two nodes; a step of 4 s takes 100 x 1000 tokens.
Scenario scenario() {
  Scenario scenario;
  scenario.training.global_batch = 100;
  scenario.training.sequence_length = 1000;
  scenario.training.tokens = 90e6;  // 900 steps: one hour
  scenario.cluster.nodes = 2;
  scenario.cluster.node.gpus = 8;
  scenario.cluster.node.overhead_power = hw_models::Watts(1000);
  scenario.gpu.idle_power = hw_models::Watts(100);
  scenario.gpu.active_power = hw_models::Watts(500);
  scenario.price.pue = 1.5;
  return scenario;
}

/// Of the 4 s the compute lane works three quarters.
StepPrediction step() {
  StepPrediction step;
  step.time_s = 4;
  const auto set = [&](TimeKind kind, std::int64_t ns) { step.breakdown_ns[static_cast<std::size_t>(kind)] = ns; };
  set(TimeKind::kCompute, 2'000'000'000);
  set(TimeKind::kRecompute, 600'000'000);
  set(TimeKind::kOptimizer, 400'000'000);
  set(TimeKind::kExposedData, 700'000'000);
  set(TimeKind::kBubble, 300'000'000);
  return step;
}

TEST(RunPrediction, StepsDaysAndHours) {
  const RunPrediction run = predict_run(scenario(), step(), 16);
  EXPECT_EQ(run.steps, 900);
  EXPECT_DOUBLE_EQ(run.tokens, 90e6);
  EXPECT_DOUBLE_EQ(run.days, 1.0 / 24);
  EXPECT_DOUBLE_EQ(run.gpu_hours, 16);
}

TEST(RunPrediction, ABegunStepIsAWholeOne) {
  Scenario more = scenario();
  more.training.tokens += 1;
  EXPECT_EQ(predict_run(more, step(), 16).steps, 901);
}

// (16 x (100 + 0.75 x 400) + 2 x 1000) W x 1 h x 1.5 = 12.6 kWh
TEST(RunPrediction, EnergyByHand) {
  const RunPrediction run = predict_run(scenario(), step(), 16);
  EXPECT_DOUBLE_EQ(run.average_gpu_watts, 400);
  EXPECT_DOUBLE_EQ(run.energy_kwh, 12.6);
  EXPECT_EQ(run.energy_status, "not validated");
}

TEST(RunPrediction, IdleAndBusyAreTheLimitsOfPower) {
  StepPrediction idle;
  idle.time_s = 4;
  EXPECT_DOUBLE_EQ(predict_run(scenario(), idle, 16).average_gpu_watts, 100);
  StepPrediction busy = idle;
  busy.breakdown_ns[static_cast<std::size_t>(TimeKind::kCompute)] = 4'000'000'000;
  EXPECT_DOUBLE_EQ(predict_run(scenario(), busy, 16).average_gpu_watts, 500);
}

TEST(RunPrediction, Rented) {
  Scenario rented = scenario();
  rented.price.usd_per_gpu_hour = 2.5;
  rented.price.power_usd_per_kwh = 99;  // the landlord's
  RunPrediction run = predict_run(rented, step(), 16);
  EXPECT_DOUBLE_EQ(run.cost_usd, 40);  // 16 GPU-hours
  EXPECT_EQ(run.cost_basis, "rented: $2.50 per GPU-hour");
  rented.price.source = "a list";
  EXPECT_EQ(predict_run(rented, step(), 16).cost_basis, "rented: $2.50 per GPU-hour (a list)");
}

// A node of 87660 $ over 4 years of 8766 h: 2.5 $/h; two nodes for one hour and 12.6 kWh at 0.2 $.
TEST(RunPrediction, Bought) {
  Scenario bought = scenario();
  bought.price.usd_per_node = 87'660;
  bought.price.years = 4;
  bought.price.power_usd_per_kwh = 0.2;
  bought.price.usd_per_gpu_hour = 99;  // of the catalogue; does not count
  const RunPrediction run = predict_run(bought, step(), 16);
  EXPECT_NEAR(run.cost_usd, 2 * 2.5 + 12.6 * 0.2, 1e-9);
  EXPECT_EQ(run.cost_basis, "bought: $87660 per node over 4 years, power at $0.2/kWh");
}

TEST(RunPrediction, WithoutPrice) {
  const RunPrediction run = predict_run(scenario(), step(), 16);
  EXPECT_EQ(run.cost_usd, 0);
  EXPECT_EQ(run.cost_basis, "no price known: set cluster.price");
}

TEST(RunPrediction, WithoutTokensOnlyPowerIsKnown) {
  Scenario open = scenario();
  open.training.tokens = 0;
  const RunPrediction run = predict_run(open, step(), 16);
  EXPECT_EQ(run.steps, 0);
  EXPECT_EQ(run.days, 0);
  EXPECT_EQ(run.cost_usd, 0);
  EXPECT_EQ(run.energy_kwh, 0);
  EXPECT_DOUBLE_EQ(run.average_gpu_watts, 400);
}

}  // namespace
}  // namespace scenarios
