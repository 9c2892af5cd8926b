#include "tests/scenarios/load/catalog_entry_cases.h"

namespace scenarios {
namespace {

using hw_models::DType;

const std::string kGood =
    "vendor: Acme\n"
    "architecture: One\n"
    "multiprocessors: 100\n"
    "boost_clock: 1.5 GHz\n"
    "matrix_peak: {fp32: 10 TFLOP/s, bf16: 100 TFLOP/s}\n"
    "vector_peak: 10 TFLOP/s\n"
    "memory: 40 GiB\n"
    "memory_bandwidth: 1 TB/s\n"
    "l2: 20 MB\n"
    "matrix_efficiency: 0.7\n"
    "speed_spread: 0.03\n"
    "memory_efficiency: 0.9\n"
    "misaligned_efficiency: 0.5\n"
    "idle_power: 50 W\n"
    "active_power: 0.4 kW\n"
    "confidence: B\n"
    "note: invented\n"
    "source: [a, b]\n";

TEST(LoadGpu, ReadsEveryField) {
  std::string findings;
  const auto gpu = load_text(load_gpu, kGood, findings);
  ASSERT_TRUE(gpu.has_value()) << findings;
  EXPECT_EQ(findings, "");
  EXPECT_EQ(gpu->name, "entry");
  EXPECT_EQ(gpu->vendor, "Acme");
  EXPECT_EQ(gpu->architecture, "One");
  EXPECT_EQ(gpu->multiprocessors, 100);
  EXPECT_DOUBLE_EQ(gpu->boost_clock_hz, 1.5e9);
  EXPECT_DOUBLE_EQ(gpu->peak(DType::kFp32).value(), 10e12);
  EXPECT_DOUBLE_EQ(gpu->peak(DType::kBf16).value(), 100e12);
  EXPECT_DOUBLE_EQ(gpu->peak(DType::kFp16).value(), 0);
  EXPECT_DOUBLE_EQ(gpu->vector_peak.value(), 10e12);
  EXPECT_EQ(gpu->memory.value(), 40LL << 30);
  EXPECT_DOUBLE_EQ(gpu->memory_bandwidth.value(), 1e12);
  EXPECT_EQ(gpu->l2.value(), 20'000'000);
  EXPECT_DOUBLE_EQ(gpu->matrix_efficiency, 0.7);
  EXPECT_DOUBLE_EQ(gpu->speed_spread, 0.03);
  EXPECT_DOUBLE_EQ(gpu->memory_efficiency, 0.9);
  EXPECT_DOUBLE_EQ(gpu->misaligned_efficiency, 0.5);
  EXPECT_DOUBLE_EQ(gpu->idle_power.value(), 50);
  EXPECT_DOUBLE_EQ(gpu->active_power.value(), 400);
}

TEST(LoadGpu, ANameInTheMapWins) {
  std::string findings;
  EXPECT_EQ(load_text(load_gpu, kGood + "name: mine\n", findings)->name, "mine");
}

TEST(LoadGpu, EachDefectIsOneFinding) {
  expect_findings(load_gpu, kGood,
                  {{"multiprocessors", "", "'multiprocessors' is missing"},
                   {"multiprocessors", "multiprocessors: 0", "out of range"},
                   {"multiprocessors", "multiprocessors: 1000000000", "out of range"},
                   {"multiprocessors", "multiprocessors: many", "whole number"},
                   {"boost_clock", "boost_clock: 1830", "boost_clock"},
                   {"boost_clock", "boost_clock: 1e30 Hz", "out of range"},
                   {"matrix_peak", "", "'matrix_peak' is missing"},
                   {"matrix_peak", "matrix_peak: {}", "names no number format"},
                   {"matrix_peak", "matrix_peak: 989 TFLOP/s", "must be a map"},
                   {"matrix_peak", "matrix_peak: {bf17: 1 TFLOP/s, fp32: 1 TFLOP/s}", "did you mean 'bf16'?"},
                   {"matrix_peak", "matrix_peak: {bf16: 0 TFLOP/s}", "out of range"},
                   {"matrix_peak", "matrix_peak: {bf16: -1 TFLOP/s}", "'bf16"},
                   {"vector_peak", "", "'vector_peak' is missing"},
                   {"vector_peak", "vector_peak: 1e30 TFLOP/s", "out of range"},
                   {"memory", "", "'memory' is missing"},
                   {"memory", "memory: -80 GiB", "'memory"},
                   {"memory", "memory: 0 GiB", "out of range"},
                   {"memory", "memory: 1e30 B", "out of range"},
                   {"memory", "memory: 80", "memory"},
                   {"memory_bandwidth", "", "'memory_bandwidth' is missing"},
                   {"memory_bandwidth", "memory_bandwidth: 80 GiB", "'memory_bandwidth' must be a bandwidth"},
                   {"matrix_efficiency", "matrix_efficiency: 80", "out of range"},
                   {"speed_spread", "speed_spread: -0.1", "out of range"},
                   {"speed_spread", "speed_spread: 1.5", "out of range"},
                   {"memory_efficiency", "memory_efficiency: 0", "out of range"},
                   {"misaligned_efficiency", "misaligned_efficiency: 1.1", "out of range"},
                   {"l2", "l2: 1e30 MB", "out of range"},
                   {"active_power", "active_power: 10 W", "'active_power' is below 'idle_power'"},
                   {"active_power", "active_power: 1e30 W", "out of range"},
                   {"confidence", "confidence: D", "is not known"},
                   {"source", "source: {a: b}", "'source' must be text"},
                   {"source", "source: []", "'source' is empty"},
                   {"boost", "boost: 3", "unknown key 'boost'"}});
}

TEST(LoadGpu, AllFindingsAtOnceWithPlaces) {
  const std::string text =
      "multiprocessors: 0\n"
      "matrix_peak: {bf16: 989 TFLOP/s}\n"
      "vector_peak: 67 TFLOP/s\n"
      "memory: 80 GiB\n"
      "memory_bandwith: 3350 GB/s\n";
  std::string findings;
  EXPECT_FALSE(load_text(load_gpu, text, findings).has_value());
  EXPECT_NE(findings.find("entry.yaml:1:18: error: 'multiprocessors: 0' is out of range"), std::string::npos)
      << findings;
  EXPECT_NE(findings.find("entry.yaml:5:1: error: unknown key 'memory_bandwith'"), std::string::npos) << findings;
  EXPECT_NE(findings.find("did you mean 'memory_bandwidth'?"), std::string::npos) << findings;
  EXPECT_NE(findings.find("'memory_bandwidth' is missing"), std::string::npos) << findings;
}

}  // namespace
}  // namespace scenarios
