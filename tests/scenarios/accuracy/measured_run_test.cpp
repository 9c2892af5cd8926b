#include "scenarios/accuracy/measured_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "scenarios/load/diagnostics.h"
#include "tests/scenarios/accuracy/example_runs.h"

namespace scenarios {
namespace {

std::string refusal(const std::string& text) {
  try {
    read_runs(parse_csv(text, "runs.csv"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(MeasuredRun, ReadsEveryCell) {
  const MeasuredRun run = example_run({{"software_version_or_date", "2024-01"},
                                       {"kv_heads", "8"},
                                       {"head_dim", "64"},
                                       {"tied_embeddings", "1"},
                                       {"mla", "1"},
                                       {"experts", "16"},
                                       {"nvlink_domain", "72"},
                                       {"cp", "3"},
                                       {"ep", "5"},
                                       {"vpp", "7"},
                                       {"overlap_dp", "0"},
                                       {"measured_step_s", "1.5e1"},
                                       {"measured_peak_memory_gib", "61.5"},
                                       {"measured_allocated_gib", "50.25"},
                                       {"memory_kind", "allocated"},
                                       {"flags", "mtp=1"},
                                       {"outcome", "fit"}});
  EXPECT_EQ(run.id, "run-1");
  EXPECT_EQ(run.family, "examples");
  EXPECT_EQ(run.software, "megatron-core");
  EXPECT_EQ(run.software_date, "2024-01");
  EXPECT_EQ(run.model_name, "13b");
  EXPECT_EQ(run.layers, 40);
  EXPECT_EQ(run.hidden, 5120);
  EXPECT_EQ(run.heads, 40);
  EXPECT_EQ(run.kv_heads, 8);
  EXPECT_EQ(run.head_dim, 64);
  EXPECT_EQ(run.ffn, 13824);
  EXPECT_EQ(run.vocabulary, 32000);
  EXPECT_EQ(run.mlp, "swiglu");
  EXPECT_EQ(run.position, "rope");
  EXPECT_EQ(run.norm, "rmsnorm");
  EXPECT_TRUE(run.tied_embeddings);
  EXPECT_TRUE(run.latent);
  EXPECT_EQ(run.experts, 16);
  EXPECT_EQ(run.sequence_length, 4096);
  EXPECT_EQ(run.gpu, "a100-sxm-80gb");
  EXPECT_EQ(run.inter_node, "8x200Gb/s IB");
  EXPECT_EQ(run.gpus, 16);
  EXPECT_EQ(run.gpus_per_node, 8);
  EXPECT_EQ(run.nvlink_domain, 72);
  EXPECT_EQ(run.data, 4);
  EXPECT_EQ(run.tensor, 2);
  EXPECT_EQ(run.pipeline, 2);
  EXPECT_EQ(run.context, 3);
  EXPECT_EQ(run.expert, 5);
  EXPECT_EQ(run.chunks, 7);
  EXPECT_EQ(run.schedule, "1f1b");
  EXPECT_EQ(run.sequence_parallel, true);
  EXPECT_EQ(run.zero, 1);
  EXPECT_EQ(run.micro_batch, 1);
  EXPECT_EQ(run.global_batch, 64);
  EXPECT_EQ(run.precision, "bf16");
  EXPECT_EQ(run.flash_attention, true);
  EXPECT_EQ(run.overlap_data, false);
  EXPECT_EQ(run.recompute, "none");
  EXPECT_EQ(run.offload, "none");
  EXPECT_EQ(run.step_s, 15);
  EXPECT_EQ(run.memory_gib, 61.5);
  EXPECT_EQ(run.allocated_gib, 50.25);
  EXPECT_EQ(run.memory_kind, "allocated");
  EXPECT_EQ(run.outcome, "fit");
  EXPECT_EQ(run.quality, "B");
  EXPECT_EQ(run.group, "13b|a100");
  EXPECT_EQ(run.flags, "mtp=1");
}

TEST(MeasuredRun, EmptyCellsAreUnknownOrFollowFromOthers) {
  Cells empty;
  for (const char* column : {"kv_heads", "head_dim", "ffn", "gpus", "gpus_per_node", "nvlink_domain", "dp", "cp", "ep",
                             "vpp", "sequence_parallel", "zero_stage", "micro_batch", "global_batch", "flash_attention",
                             "overlap_dp", "measured_step_s", "measured_peak_memory_gib", "tied_embeddings"}) {
    empty[column] = "";
  }
  const MeasuredRun run = example_run(empty);
  EXPECT_EQ(run.kv_heads, 40);
  EXPECT_EQ(run.head_dim, 128);
  EXPECT_EQ(run.ffn, 0);
  EXPECT_EQ(run.gpus, 0);
  EXPECT_EQ(run.nvlink_domain, 0);
  EXPECT_EQ(run.data, 0);
  EXPECT_EQ(run.context, 1);
  EXPECT_EQ(run.expert, 1);
  EXPECT_EQ(run.chunks, 1);
  EXPECT_EQ(run.sequence_parallel, std::nullopt);
  EXPECT_EQ(run.zero, std::nullopt);
  EXPECT_EQ(run.micro_batch, std::nullopt);
  EXPECT_EQ(run.flash_attention, std::nullopt);
  EXPECT_EQ(run.overlap_data, std::nullopt);
  EXPECT_EQ(run.step_s, std::nullopt);
  EXPECT_EQ(run.memory_gib, std::nullopt);
  EXPECT_EQ(run.outcome, "");
  EXPECT_EQ(example_run({{"nvlink_domain", ""}}).nvlink_domain, 8);
}

TEST(MeasuredRun, EveryColumnIsNeeded) {
  for (const auto& [column, cell] : example_cells()) {
    Cells without = example_cells();
    without.erase(column);
    const std::string expected =
        fmt::format("runs.csv:1:1: error: column '{}' is missing\n  docs/accuracy.md lists the columns\n", column);
    EXPECT_EQ(refusal(csv_of({without})), expected);
    // A table without rows has columns all the same.
    const std::string text = csv_of({without});
    EXPECT_EQ(refusal(text.substr(0, text.find('\n'))), expected);
  }
}

TEST(MeasuredRun, OrderAndFurtherColumnsDoNotMatter) {
  Cells cells = example_cells({{"a note", "first"}, {"zebra", "last"}});
  EXPECT_EQ(runs_of({cells}).front().layers, 40);
}

struct WrongCell {
  const char *column, *cell, *shown, *expected;
};

constexpr const char *kNumber = "a number from 0 to 1e18", *kWhole = "a whole number",
                     *kAtLeastOne = "a whole number of at least 1", *kFlag = "0, 1 or nothing";

constexpr WrongCell kWrongCells[] = {
    {"layers", "", "", kAtLeastOne},
    {"layers", "0", "0", kAtLeastOne},
    {"layers", "2.5", "2.5", kWhole},
    {"layers", "1e13", "1e13", kWhole},
    {"layers", "-1", "-1", kNumber},
    {"layers", "forty", "forty", kNumber},
    {"heads", "0", "0", kAtLeastOne},
    {"hidden", "", "", kAtLeastOne},
    {"vocab", "", "", kAtLeastOne},
    {"seq_len", "0", "0", kAtLeastOne},
    {"tp", "", "", kAtLeastOne},
    {"pp", "0", "0", kAtLeastOne},
    {"gpus", "16 GPUs", "16 GPUs", kNumber},
    {"dp", " 4", " 4", kNumber},
    {"micro_batch", "0.5", "0.5", kWhole},
    {"measured_step_s", "nan", "nan", kNumber},
    {"measured_step_s", "inf", "inf", kNumber},
    {"measured_step_s", "1e400", "1e400", kNumber},
    {"measured_step_s", "1,5", "1,5", kNumber},
    {"measured_peak_memory_gib", "61 GiB", "61 GiB", kNumber},
    {"tied_embeddings", "yes", "yes", kFlag},
    {"mla", "2", "2", kFlag},
    {"sequence_parallel", "true", "true", kFlag},
    {"flash_attention", "-", "-", kFlag},
    {"overlap_dp", "01", "01", kFlag},
    {"gpus", "0123456789012345678901234567890123456789xyz", "0123456789012345678901234567890123456789...", kNumber},
};

TEST(MeasuredRun, WrongCellsAreNamedByLineAndColumn) {
  for (const WrongCell& wrong : kWrongCells) {
    const std::string text = csv_of({example_cells(), example_cells({{wrong.column, wrong.cell}})});
    EXPECT_EQ(refusal(text), fmt::format("runs.csv:3: error: column '{}' holds '{}'\n  expected {}\n", wrong.column,
                                         wrong.shown, wrong.expected));
  }
}

}  // namespace
}  // namespace scenarios
