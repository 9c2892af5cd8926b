#include "scenarios/report/machine_yaml.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/scenarios/load/catalog_entry_cases.h"

namespace scenarios {
namespace {

executor::Calibration two_cores() {
  executor::Calibration calibration;
  calibration.before.processor = "Some \"fast\" processor";
  calibration.before.cores = {0, 1};
  calibration.before.memory_bytes = std::int64_t{8} << 30;
  calibration.after = calibration.before;
  calibration.instructions = "x86-64-v3";
  calibration.rounds = 30;
  calibration.seconds = 150;
  calibration.kernels.operation = hw_models::Seconds(1.5e-6);
  const std::vector<std::vector<double>> cube{{16, 512}, {16, 512}, {16, 512}};
  calibration.kernels.kinds = {
      {"matmul-nn", {cube, {1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3, 7e-3, 4e-3}}, {cube, std::vector<double>(8, 1e-2)}},
      {"scale", {{{1000, 1e6}}, {1e-6, 1e-3}}, {{{1000, 1e6}}, {2e-6, 2e-3}}}};
  using hw_models::Bytes;
  using hw_models::Operation;
  using hw_models::Seconds;
  calibration.transfers.collectives = {
      {Operation::kAllReduce, 2, {{Bytes(64), Seconds(1e-5)}, {Bytes(1048576), Seconds(1e-3)}}}};
  calibration.transfers.send = {{Bytes(64), Seconds(5e-6)}, {Bytes(1048576), Seconds(4e-4)}};
  calibration.quality = {{"matmul-nn", 0.01, 0.02, 0.3}, {"scale", 0, 0, 0}, {"all-reduce of 2", 0, 0, 0}};
  return calibration;
}

TEST(MachineYaml, LoadsAsTheNodeThatWasMeasured) {
  const executor::Calibration calibration = two_cores();
  std::string findings;
  const auto node = load_text(load_node, machine_yaml(calibration), findings);
  ASSERT_TRUE(node && node->own_gpu && node->own_gpu->measured && node->measured) << findings;
  EXPECT_EQ(findings, "");
  EXPECT_EQ(node->gpus, 2);
  const hw_models::GpuSpec& core = *node->own_gpu;
  EXPECT_EQ(core.memory, hw_models::Bytes(std::int64_t{4} << 30));
  EXPECT_NEAR(core.peak(hw_models::DType::kFp32).value(), 2 * 512.0 * 512 * 512 / 4e-3, 1e8);
  EXPECT_NEAR(core.memory_bandwidth.value(), 8e9, 1e7);
  EXPECT_DOUBLE_EQ(core.measured->operation.value(), 1.5e-6);
  ASSERT_EQ(core.measured->kinds.size(), calibration.kernels.kinds.size());
  for (std::size_t i = 0; i < core.measured->kinds.size(); ++i) {
    const hw_models::MeasuredKernel &read = core.measured->kinds[i], &written = calibration.kernels.kinds[i];
    EXPECT_EQ(read.kind, written.kind);
    EXPECT_EQ(read.alone.axes, written.alone.axes);
    for (std::size_t p = 0; p < written.alone.seconds.size(); ++p) {
      EXPECT_NEAR(read.alone.seconds[p], written.alone.seconds[p], 1e-4 * written.alone.seconds[p]);
      EXPECT_NEAR(read.together.seconds[p], written.together.seconds[p], 1e-4 * written.together.seconds[p]);
    }
  }
  ASSERT_EQ(node->measured->collectives.size(), 1u);
  EXPECT_EQ(node->measured->collectives[0].times[1].bytes, hw_models::Bytes(1048576));
  EXPECT_DOUBLE_EQ(node->measured->collectives[0].times[1].time.value(), 1e-3);
  EXPECT_EQ(node->measured->send.size(), 2u);
}

TEST(MachineYaml, SaysTheSameTwice) { EXPECT_EQ(machine_yaml(two_cores()), machine_yaml(two_cores())); }

TEST(MachineYaml, OneCoreHasNoTransfers) {
  executor::Calibration calibration = two_cores();
  calibration.before.cores = {3};
  calibration.transfers = {};
  std::string findings;
  const auto node = load_text(load_node, machine_yaml(calibration), findings);
  ASSERT_TRUE(node.has_value()) << findings;
  EXPECT_EQ(node->gpus, 1);
  EXPECT_FALSE(node->measured.has_value());
}

TEST(MachineYaml, NoiseIsSaid) {
  executor::Calibration calibration = two_cores();
  EXPECT_FALSE(is_noisy(calibration));
  EXPECT_EQ(machine_yaml(calibration).find("note:"), std::string::npos);
  calibration.waited = 0.4;
  EXPECT_TRUE(is_noisy(calibration));
  EXPECT_NE(machine_yaml(calibration).find("note: \"the machine was too busy"), std::string::npos);
  calibration.waited = 0;
  calibration.rounds = 5;
  EXPECT_TRUE(is_noisy(calibration));
  calibration.rounds = 30;
  for (executor::Quality& each : calibration.quality) each.variation = 0.16;
  EXPECT_TRUE(is_noisy(calibration));
}

TEST(MachineYaml, LinesAreShort) {
  const std::string text = machine_yaml(two_cores());
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 200u) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

}  // namespace
}  // namespace scenarios
