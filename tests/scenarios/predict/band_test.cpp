// Predictions against the published runs of Narayanan et al., SC'21 (arXiv:2104.04473), Table 1: GPT models with full
// recomputation and fp16 on DGX A100 with 8 x 200 Gb/s InfiniBand. The step follows from the printed TFLOP/s per GPU
// and the paper's equation (3), F = 96 B s l h^2 (1 + s / (6 h) + V / (16 l h)), V = 51200, s = 2048. Micro-batch sizes
// and interleaving are those of the authors' script examples/sc21/run_table_1.sh.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/accuracy/accuracy.h"
#include "scenarios/load/read_file.h"
#include "scenarios/predict/prediction.h"
#include "tests/scenarios/whole_tables.h"

namespace scenarios {
namespace {

struct PublishedRun {
  const char* model;
  double hidden, layers;
  int tensor, pipeline, data, chunks;
  int micro_batch, global_batch;
  double tflops_per_gpu;
};

constexpr PublishedRun kRuns[] = {
    {"megatron-gpt-1.7b", 2304, 24, 1, 1, 32, 1, 16, 512, 137},
    {"megatron-gpt-3.6b", 3072, 30, 2, 1, 32, 1, 16, 512, 138},
    {"megatron-gpt-7.5b", 4096, 36, 4, 1, 32, 1, 16, 512, 142},
    {"megatron-gpt-18.4b", 6144, 40, 8, 1, 32, 1, 8, 1024, 135},
    {"megatron-gpt-39.1b", 8192, 48, 8, 2, 32, 1, 4, 1536, 138},
    {"megatron-gpt-76.1b", 10240, 60, 8, 4, 32, 3, 2, 1792, 140},
    {"megatron-gpt-145.6b", 12288, 80, 8, 8, 24, 2, 2, 2304, 148},
    {"megatron-gpt-310.1b", 16384, 96, 8, 16, 15, 2, 1, 2160, 155},
    {"megatron-gpt-530b", 20480, 105, 8, 35, 9, 3, 1, 2520, 163},
    {"megatron-gpt-1t", 25600, 128, 8, 64, 6, 1, 1, 3072, 163},
};

int gpus(const PublishedRun& run) { return run.tensor * run.pipeline * run.data; }

double measured_step_s(const PublishedRun& run) {
  constexpr double kSequence = 2048, kVocabulary = 51200;
  const double flops = 96 * run.global_batch * kSequence * run.layers * run.hidden * run.hidden *
                       (1 + kSequence / (6 * run.hidden) + kVocabulary / (16 * run.layers * run.hidden));
  return flops / (gpus(run) * run.tflops_per_gpu * 1e12);
}

double predicted_step_s(const PublishedRun& run, const Catalog& catalog) {
  const std::string text = fmt::format(
      "model: {}\n"
      "training: {{sequence_length: 2048, global_batch: {}, precision: fp16}}\n"
      "cluster: {{node: dgx-a100, nodes: {}, fabric: infiniband-hdr}}\n"
      "plan: {{tensor: {}, pipeline: {}, data: {}, micro_batch: {}, schedule: {}, chunks: {}, recompute: full}}\n"
      "software: megatron-lm\n",
      run.model, run.global_batch, gpus(run) / 8, run.tensor, run.pipeline, run.data, run.micro_batch,
      run.chunks > 1 ? "interleaved" : "1f1b", run.chunks);
  return predict(load_scenario_text(text, run.model, ".", catalog)).step.time_s;
}

TEST(Band, TheRunsOfSc21ArePredictedWithin15Percent) {
  const Catalog catalog;
  for (const PublishedRun& run : kRuns) {
    const double measured = measured_step_s(run);
    const double error = predicted_step_s(run, catalog) / measured - 1;
    fmt::print("{:<20} {:>5} GPUs  measured {:7.3f} s  error {:+5.1f} %\n", run.model, gpus(run), measured,
               100 * error);
    EXPECT_LE(std::abs(error), 0.15) << run.model;
  }
}

TEST(Band, IsTheErrorOfTheBuyerSubset) {
  if (!kWholeTables) GTEST_SKIP() << kNoWholeTables;
  const std::filesystem::path data = std::filesystem::path(TRAINYARD_SOURCE_DIR) / "tests/data/published";
  std::vector<MeasuredRun> runs;
  for (const char* name : {"runs.csv", "runs2.csv"}) {
    const std::vector<MeasuredRun> more = read_runs(parse_csv(read_file(data / name, 1 << 26), name));
    runs.insert(runs.end(), more.begin(), more.end());
  }
  const double p90 = evaluate(std::move(runs), Catalog()).buyer.p90;
  const Band band = predict_band(1);
  EXPECT_GE(std::log(band.step_high_s), p90);  // never smaller than what was found
  EXPECT_LE(std::log(band.step_high_s), p90 + 0.03);
  EXPECT_NEAR(std::log(band.step_low_s), -std::log(band.step_high_s), 1e-12);
}

}  // namespace
}  // namespace scenarios
