// Figures that are legal one by one and absurd together end as bad input, before the clock overflows.
#include "scenarios/predict/simulate_scenario.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "scenarios/load/diagnostics.h"
#include "scenarios/predict/prediction.h"

namespace scenarios {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// Two accelerators of 1 MFLOP/s with 1 Mb/s between them.
Scenario slow_scenario(int sequence, int microbatches, const std::string& input = "{}") {
  const std::string text = fmt::format(
      "model: {{layers: 4, hidden: 4096, heads: 32, ffn: 11008, vocabulary: 32000}}\n"
      "training: {{sequence_length: {}, global_batch: {}, input: {}}}\n"
      "cluster: {{node: {{gpu: slow, gpus: 2, nics: 0, scale_up: none, pcie_bandwidth: 1 Mb/s}}, nodes: 1,\n"
      "          gpu: {{base: a100-sxm-80gb, multiprocessors: 1, matrix_peak: {{bf16: 1e6 FLOP/s}},\n"
      "                vector_peak: 1e6 FLOP/s, memory_bandwidth: 1 MB/s}}}}\n"
      "plan: {{pipeline: 2}}\n",
      sequence, microbatches, input);
  return load_scenario_text(text, "slow.yaml", ".", Catalog());
}

std::string refusal(const Scenario& scenario) {
  try {
    predict(scenario);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(CheckScale, SlowButCountable) {
  const Prediction prediction = predict(slow_scenario(64, 2));
  EXPECT_GT(prediction.step.time_s, 1e5);
  EXPECT_LE(prediction.step.mfu, 1);
}

TEST(CheckScale, OperationTooLong) {
  const std::string message = refusal(slow_scenario(16'777'216, 2));
  EXPECT_THAT(message, StartsWith("slow.yaml: error: an operation takes "));
  EXPECT_THAT(message, HasSubstr("\n  check micro_batch, global_batch, sequence_length"));
}

TEST(CheckScale, StepTooLong) {
  const std::string message = refusal(slow_scenario(64, 100'000));
  EXPECT_THAT(message, StartsWith("slow.yaml: error: one step could take "));
  EXPECT_THAT(message, HasSubstr(" s, longer than can be simulated\n  check micro_batch"));
}

TEST(CheckScale, InputTooSlow) {
  EXPECT_THAT(refusal(slow_scenario(1, 10'000, "{samples_per_s: 0.000001}")),
              HasSubstr("longer than can be simulated"));
}

}  // namespace
}  // namespace scenarios
