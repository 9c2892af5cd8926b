// The tables for people: units, folding of long pipelines, unknown figures.
#include "scenarios/report/prediction_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/predict/prediction.h"

namespace scenarios {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

Scenario scenario() {
  Scenario scenario;
  scenario.model = *Catalog().model("llama3-8b");
  scenario.training.sequence_length = 4096;
  scenario.training.global_batch = 64;
  scenario.cluster.node.name = "dgx-h100";
  scenario.cluster.fabric.name = "infiniband-ndr";
  scenario.gpu.name = "h100-sxm-80gb";
  return scenario;
}

MemoryPrediction memory(int stages, int heaviest) {
  MemoryPrediction memory;
  memory.capacity_bytes = 80 * kGiB;
  memory.overhead_bytes = kGiB;
  for (int s = 0; s < stages; ++s) {
    StageMemory stage{.stage = s};
    stage.weights = (s == heaviest ? 20 : 10) * kGiB;
    stage.activations = kGiB / 4;
    stage.allocated_bytes = stage.weights + stage.activations;
    stage.peak_bytes = stage.allocated_bytes + kGiB / 2;
    stage.microbatches = stages - s;
    memory.stages.push_back(stage);
  }
  memory.device_bytes = memory.stages[static_cast<std::size_t>(heaviest)].peak_bytes + kGiB;
  return memory;
}

TEST(MemoryText, Table) {
  EXPECT_EQ(memory_text(scenario(), memory(2, 0)),
            "Memory per GPU at its peak, GiB (h100-sxm-80gb has 80.00)\n"
            "  stage  weights  gradients  optimizer  activations  other  allocated  reserved  on device  microbatches\n"
            "  0        20.00       0.00       0.00         0.25   0.00      20.25     20.75      21.75             2\n"
            "  1        10.00       0.00       0.00         0.25   0.00      10.25     10.75      11.75             1\n"
            "  fits: 58.25 GiB to spare on the heaviest stage\n");
}

TEST(MemoryText, DoesNotFit) {
  MemoryPrediction tight = memory(1, 0);
  tight.fits = false;
  tight.capacity_bytes = 21 * kGiB;
  EXPECT_THAT(memory_text(scenario(), tight),
              HasSubstr("  DOES NOT FIT: 0.75 GiB too much on the heaviest stage; all else"));
}

/// The stages whose rows are shown.
std::vector<int> shown(const MemoryPrediction& memory) {
  const std::string text = memory_text(scenario(), memory);
  std::vector<int> stages;
  for (const StageMemory& stage : memory.stages) {
    if (text.find("\n  " + std::to_string(stage.stage) + " ") != std::string::npos) stages.push_back(stage.stage);
  }
  return stages;
}

TEST(MemoryText, LongPipelinesShowBothEndsAndTheHeaviest) {
  EXPECT_EQ(shown(memory(17, 5)).size(), 17U);
  EXPECT_EQ(shown(memory(40, 5)), (std::vector<int>{0, 1, 5, 38, 39}));
  EXPECT_THAT(memory_text(scenario(), memory(40, 5)), HasSubstr("\n  (35 more stages: --json)"));
  for (const int heaviest : {0, 1, 38, 39}) {
    EXPECT_EQ(shown(memory(40, heaviest)), (std::vector<int>{0, 1, 38, 39})) << heaviest;
  }
  EXPECT_EQ(shown(memory(40, 2)), (std::vector<int>{0, 1, 2, 38, 39}));
  EXPECT_EQ(shown(memory(40, 37)), (std::vector<int>{0, 1, 37, 38, 39}));
}

Prediction prediction() {
  Prediction p;
  p.gpus = 8;
  p.step.time_s = 0.5;
  p.step.tokens_per_s = 1'234'567.4;
  p.step.dtype = "bf16";
  p.step.breakdown_ns[static_cast<std::size_t>(sim::TimeKind::kCompute)] = 375'000'000;
  p.step.breakdown_ns[static_cast<std::size_t>(sim::TimeKind::kHost)] = 125'000'000;
  p.memory = memory(1, 0);
  p.bottleneck = {.name = "host", .problem = "speed", .figures = "why", .advice = "what to do"};
  return p;
}

TEST(PredictionText, UnitsAndBars) {
  const std::string text = prediction_text(scenario(), prediction());
  EXPECT_THAT(text, HasSubstr("step        500.00 ms\n"));
  EXPECT_THAT(text, HasSubstr("throughput  1,234,567 tokens/s"));
  EXPECT_THAT(text, HasSubstr("  compute   75.0 %    375.00 ms  ##############################\n"));
  EXPECT_THAT(text, HasSubstr("  host      25.0 %    125.00 ms  ##########\n"));
  EXPECT_THAT(text, Not(HasSubstr("bubble"))) << "nothing is said of what takes no time";
  EXPECT_THAT(text, HasSubstr("Problem: speed (why)\nBottleneck: host; what to do\n"));
}

TEST(PredictionText, RunOfUnknownLength) {
  EXPECT_THAT(prediction_text(scenario(), prediction()), HasSubstr("Run: unknown length (set training.tokens"));
}

TEST(PredictionText, CostMayBeUnknown) {
  Prediction p = prediction();
  p.run = {.tokens = 15e12, .steps = 12'345, .days = 3.25, .gpu_hours = 624, .cost_basis = "no price"};
  EXPECT_THAT(prediction_text(scenario(), p),
              HasSubstr("Run of 15T tokens: 12,345 steps, 3.2 days, 624 GPU-hours\n  cost    unknown (no price)\n"));
  p.run.cost_usd = 1'000'000;
  EXPECT_THAT(prediction_text(scenario(), p), HasSubstr("  cost    $1,000,000 (no price)\n"));
}

TEST(PredictionText, PlanInWords) {
  Scenario pipelined = scenario();
  pipelined.plan.tensor = 2;
  pipelined.plan.pipeline = 4;
  pipelined.plan.data = 8;
  pipelined.plan.micro_batch = 2;
  pipelined.plan.schedule = "interleaved";
  pipelined.plan.chunks = 2;
  pipelined.plan.recompute = strategies::Recompute::kFull;
  pipelined.plan.zero = 1;
  EXPECT_THAT(prediction_text(pipelined, prediction()),
              HasSubstr("plan        tensor 2 x pipeline 4 x data 8, interleaved (2 chunks), 4 microbatches of 2, full "
                        "recompute, ZeRO 1\n"));
}

TEST(PredictionText, ContextInWords) {
  Scenario split = scenario();
  split.plan.tensor = 8;
  split.plan.context = 4;
  split.software.implementation.context_exchange = strategies::ContextExchange::kRing;
  split.software.implementation.balanced_context = true;
  EXPECT_THAT(prediction_text(split, prediction()),
              HasSubstr("plan        tensor 8 x context 4 (ring, balanced) x pipeline"));
  split.plan.context_exchange = strategies::ContextExchange::kAllToAll;
  split.software.implementation.balanced_context = false;
  EXPECT_THAT(prediction_text(split, prediction()), HasSubstr("x context 4 (all-to-all) x pipeline"));
}

}  // namespace
}  // namespace scenarios
