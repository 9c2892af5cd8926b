#include "scenarios/load/measured_section.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/scenarios/load/catalog_entry_cases.h"

namespace scenarios {
namespace {

const std::string kCore =
    "vendor: any\narchitecture: any\nmultiprocessors: 1\nboost_clock: 1 GHz\nmatrix_peak: {fp32: 50 GFLOP/s}\n"
    "vector_peak: 25 GFLOP/s\nmemory: 1 GiB\nmemory_bandwidth: 10 GB/s\n"
    "measured: {operation: 2 us, sgd: {parameters: [10, 100], alone_us: [1, 2], together_us: [3, 4]}, "
    "layernorm-forward: {rows: [1], columns: [8, 16], alone_us: [5, 6.5]}}\n"
    "source: invented\n";

TEST(MeasuredSection, ReadsKernels) {
  std::string findings;
  const auto gpu = load_text(load_gpu, kCore, findings);
  ASSERT_TRUE(gpu && gpu->measured) << findings;
  EXPECT_DOUBLE_EQ(gpu->measured->operation.value(), 2e-6);
  ASSERT_EQ(gpu->measured->kinds.size(), 2u);
  const hw_models::MeasuredKernel* norm = gpu->measured->find("layernorm-forward");
  ASSERT_NE(norm, nullptr);
  EXPECT_EQ(norm->alone.axes, (std::vector<std::vector<double>>{{1}, {8, 16}}));
  EXPECT_DOUBLE_EQ(norm->alone.seconds[1], 6.5e-6);
  EXPECT_EQ(norm->together.seconds, norm->alone.seconds);  // nothing else is known
  const hw_models::MeasuredKernel* sgd = gpu->measured->find("sgd");
  ASSERT_NE(sgd, nullptr);
  EXPECT_DOUBLE_EQ(sgd->together.seconds[0], 3e-6);
}

TEST(MeasuredSection, EachDefectOfKernelsIsOneFinding) {
  const auto line = [](const std::string& kernels) { return "measured: {" + kernels + "}"; };
  expect_findings(
      load_gpu, kCore,
      {{"measured", "measured: 5", "'measured' must be a map"},
       {"measured", line("sdg: {parameters: [1], alone_us: [1]}"), "unknown key 'sdg'"},
       {"measured", line("sgd: {alone_us: [1]}"), "'measured.sgd.parameters' is missing"},
       {"measured", line("sgd: {parameters: [1]}"), "'measured.sgd.alone_us' is missing"},
       {"measured", line("sgd: {parameters: [2, 1], alone_us: [1, 1]}"), "'parameters' must rise"},
       {"measured", line("sgd: {parameters: [1, 2], alone_us: [1]}"), "'alone_us' has 1 numbers"},
       {"measured", line("sgd: {parameters: [1, 2], alone_us: [1, 1], together_us: [1]}"), "'together_us' has 1"},
       {"measured", line("sgd: {parameters: [1], alone_us: [0]}"), "'alone_us: 0' is out of range"},
       {"measured", line("sgd: {parameters: [1], alone_us: 7}"), "'alone_us' must be a list of numbers"},
       {"measured", line("sgd: {parameters: [x], alone_us: [1]}"), "'parameters' must be a number, not 'x'"},
       {"measured", line("sgd: {parameters: [1], alone_us: [1], rows: [1]}"), "unknown key 'rows'"},
       {"measured", line("operation: 3"), "'operation' must be"}});
}

const std::string kNode =
    "gpu: {vendor: any, architecture: any, multiprocessors: 1, boost_clock: 1 GHz, matrix_peak: {fp32: 50 GFLOP/s}, "
    "vector_peak: 25 GFLOP/s, memory: 1 GiB, memory_bandwidth: 10 GB/s}\n"
    "gpus: 2\nscale_up: none\nnics: 0\npcie_bandwidth: 1 GB/s\n"
    "measured: {send: {bytes: [64], us: [5]}, all-reduce: {2: {bytes: [64, 1024], us: [10, 20]}, 4: {bytes: [64], us: "
    "[30]}}}\nsource: invented\n";

TEST(MeasuredSection, ReadsTransfersAndTheNodesOwnDevice) {
  std::string findings;
  const auto node = load_text(load_node, kNode, findings);
  ASSERT_TRUE(node && node->measured && node->own_gpu) << findings;
  EXPECT_EQ(node->gpu, node->own_gpu->name);
  ASSERT_EQ(node->measured->collectives.size(), 2u);
  EXPECT_EQ(node->measured->collectives[1].ranks, 4);
  EXPECT_EQ(node->measured->collectives[0].times[1].bytes, hw_models::Bytes(1024));
  EXPECT_DOUBLE_EQ(node->measured->collectives[0].times[1].time.value(), 20e-6);
  ASSERT_EQ(node->measured->send.size(), 1u);
  EXPECT_DOUBLE_EQ(node->measured->send[0].time.value(), 5e-6);
}

TEST(MeasuredSection, EachDefectOfTransfersIsOneFinding) {
  const auto line = [](const std::string& transfers) { return "measured: {" + transfers + "}"; };
  expect_findings(load_node, kNode,
                  {{"measured", line("all-reduced: {2: {bytes: [1], us: [1]}}"), "did you mean 'all-reduce'?"},
                   {"measured", line("all-reduce: {1: {bytes: [1], us: [1]}}"), "'1' must be a group size"},
                   {"measured", line("all-reduce: {4: {bytes: [1], us: [1]}, 2: {bytes: [1], us: [1]}}"), "rising"},
                   {"measured", line("all-reduce: {2: {bytes: [1, 2], us: [1]}}"), "'us' has 1 numbers"},
                   {"measured", line("all-reduce: [1]"), "'measured.all-reduce' must be a map"},
                   {"measured", line("send: {us: [1]}"), "'measured.send.bytes' is missing"}});
}

}  // namespace
}  // namespace scenarios
