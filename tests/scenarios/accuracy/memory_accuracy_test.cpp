#include "scenarios/accuracy/memory_accuracy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/accuracy/csv.h"
#include "scenarios/accuracy/memory_report.h"
#include "scenarios/accuracy/run_scenario.h"
#include "strategies/build_program.h"

namespace scenarios {
namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

/// 16 layers of width 2048 on 8 GPUs in two stages: fits easily.
MeasuredRun small_run(const std::string& id) {
  MeasuredRun run;
  run.id = id;
  run.family = "one";
  run.software = "megatron-lm";
  run.model_name = "small";
  run.layers = 16;
  run.hidden = 2048;
  run.heads = run.kv_heads = 16;
  run.head_dim = 128;
  run.ffn = 8192;
  run.vocabulary = 50304;
  run.mlp = "gelu";
  run.position = "learned";
  run.norm = "layernorm";
  run.sequence_length = 2048;
  run.gpu = "a100-sxm-80gb";
  run.inter_node = "none";
  run.gpus = run.gpus_per_node = run.nvlink_domain = 8;
  run.data = 2;
  run.tensor = 2;
  run.pipeline = 2;
  run.schedule = "1f1b";
  run.sequence_parallel = false;
  run.zero = 0;
  run.micro_batch = 1;
  run.global_batch = 8;
  run.precision = "bf16";
  run.flash_attention = true;
  run.recompute = "none";
  run.outcome = "fit";
  run.group = "group";
  return run;
}

/// The same, much too wide for its memory.
MeasuredRun huge_run(const std::string& id) {
  MeasuredRun run = small_run(id);
  run.hidden = 16384;
  run.heads = run.kv_heads = 128;
  run.ffn = 65536;
  return run;
}

MemoryPrediction prediction_of(const MeasuredRun& run) {
  const Scenario scenario = std::get<RunScenario>(scenario_of(run, Catalog(std::nullopt))).scenario;
  return predict_memory(scenario, strategies::build_program(scenario.model, scenario.training, scenario.plan,
                                                            scenario.software.implementation));
}

MemoryAccuracy scored(std::vector<MeasuredRun> runs) { return evaluate_memory(std::move(runs), Catalog(std::nullopt)); }

TEST(MeasuredQuantity, FollowsKindAndRank) {
  MemoryPrediction memory;
  memory.stages.resize(3);
  for (std::size_t i = 0; i < 3; ++i) {
    memory.stages[i].allocated_bytes = std::vector<std::int64_t>{10, 30, 20}[i];
    memory.stages[i].peak_bytes = std::vector<std::int64_t>{11, 33, 22}[i];
  }
  memory.peak_bytes = 33;
  memory.peak_allocated_bytes = 30;
  const std::vector<std::pair<std::string, std::optional<std::int64_t>>> cases{
      {"reserved (torch max, one rank)", 11},
      {"allocated (torch max, bytes, one rank)", 20},
      {"reserved (tool metric, max over ranks where stated)", 33},
      {"allocated", 30},
      {"logged max, GB", std::nullopt},
      {"unknown", std::nullopt},
      {"", std::nullopt}};
  for (const auto& [kind, bytes] : cases) EXPECT_EQ(measured_quantity(kind, memory), bytes) << kind;
}

TEST(EvaluateMemory, ErrorIsTheLogarithmOfTheRatio) {
  MeasuredRun run = small_run("a");
  run.memory_kind = "allocated (torch max, bytes, one rank)";
  const double predicted = static_cast<double>(prediction_of(run).stages.back().allocated_bytes) / kGib;
  run.memory_gib = predicted / std::exp(0.25);
  const MemoryAccuracy report = scored({run});
  ASSERT_TRUE(report.rows[0].scored());
  EXPECT_NEAR(*report.rows[0].error, 0.25, 1e-12);
  EXPECT_NEAR(report.families[0].errors.bias, 0.25, 1e-12);
  EXPECT_EQ(report.total.rows, 1);
}

TEST(EvaluateMemory, NeedsNoMeasuredStep) {
  MeasuredRun run = small_run("a");
  run.step_s = std::nullopt;
  EXPECT_EQ(scored({run}).rows[0].skipped, "");
}

TEST(EvaluateMemory, UnscoredKindsAreListedAndStayOut) {
  MeasuredRun run = small_run("a");
  run.memory_kind = "unknown, printed GB";
  run.memory_gib = static_cast<double>(prediction_of(run).peak_bytes) / kGib / 2;
  const MemoryAccuracy report = scored({run});
  EXPECT_EQ(report.total.rows, 0);
  EXPECT_EQ(report.families[0].errors.rows, 0);
  ASSERT_EQ(report.unscored.size(), 1U);
  EXPECT_EQ(report.unscored[0].kind, "unknown, printed GB");
  EXPECT_EQ(report.unscored[0].errors.rows, 1);
  EXPECT_NEAR(report.unscored[0].errors.bias, std::log(2.0), 1e-12);
}

TEST(EvaluateMemory, AllocatedFigureBesideTheReservedOneIsNotScored) {
  MeasuredRun run = small_run("a");
  run.memory_kind = "reserved (torch max, one rank)";
  run.allocated_gib = 1;
  EXPECT_EQ(scored({run}).total.rows, 0);
}

TEST(EvaluateMemory, VerdictsCountBothWaysOfBeingWrong) {
  const auto with = [](MeasuredRun run, const char* outcome) {
    run.outcome = outcome;
    return run;
  };
  MeasuredRun other = with(huge_run("other"), "fit");
  other.family = "two";
  const MemoryAccuracy report =
      scored({with(small_run("a"), "fit"), with(small_run("b"), "oom"), with(huge_run("c"), "oom"), other,
              with(huge_run("d"), "failed-unknown"), with(small_run("e"), "failed-unknown"), with(small_run("f"), "")});
  EXPECT_EQ(report.verdicts.rows, 4);
  EXPECT_EQ(report.verdicts.right, 2);
  EXPECT_EQ(report.verdicts.false_fit, 1);
  EXPECT_EQ(report.verdicts.false_oom, 1);
  EXPECT_EQ(report.unknown_failures, 2);
  EXPECT_EQ(report.families[0].verdicts.rows, 3);
  EXPECT_EQ(report.families[1].family, "two");
  EXPECT_EQ(report.families[1].verdicts.false_oom, 1);
}

TEST(EvaluateMemory, CountsSkippedRowsByReason) {
  MeasuredRun experts = small_run("a"), unknown = small_run("b");
  experts.experts = 8;
  unknown.recompute = "";
  const MemoryAccuracy report = scored({experts, unknown, small_run("c")});
  EXPECT_EQ(report.skipped, (std::map<std::string, int>{{"sizes of experts unknown", 1}, {"recompute unknown", 1}}));
  EXPECT_EQ(report.verdicts.rows, 1);
}

TEST(MemoryReport, JsonHoldsEveryFigure) {
  MeasuredRun run = small_run("a"), skipped = small_run("b"), unscored = small_run("c");
  run.memory_kind = "allocated";
  run.memory_gib = static_cast<double>(prediction_of(run).peak_allocated_bytes) / kGib;
  skipped.experts = 8;
  unscored.memory_kind = "unknown";
  unscored.memory_gib = 1;
  const auto json = nlohmann::json::parse(memory_accuracy_json(scored({run, skipped, unscored})));
  EXPECT_EQ(json["rows"], 3);
  EXPECT_EQ(json["skipped"], (nlohmann::json{{{"reason", "sizes of experts unknown"}, {"count", 1}}}));
  const auto& memory = json["families"][0]["memory"];
  EXPECT_EQ(json["families"][0]["family"], "one");
  EXPECT_EQ(memory["n"], 1);
  EXPECT_NEAR(memory["median_abs_error"].get<double>(), 0, 1e-12);
  EXPECT_NEAR(memory["p90_abs_error"].get<double>(), 0, 1e-12);
  EXPECT_NEAR(memory["bias"].get<double>(), 0, 1e-12);
  EXPECT_EQ(memory["verdicts"], (nlohmann::json{{"n", 2}, {"right", 2}, {"false_fit", 0}, {"false_oom", 0}}));
  EXPECT_EQ(json["unscored"][0]["memory_kind"], "unknown");
  EXPECT_EQ(json["total"]["memory"]["verdicts"]["n"], 2);
}

TEST(MemoryReport, CsvHasOneLinePerRunAndTextNamesWhatWasLeftOut) {
  MeasuredRun run = small_run("a"), skipped = small_run("b");
  run.memory_kind = "logged max, GB";
  run.memory_gib = 20;
  skipped.experts = 8;
  const MemoryAccuracy report = scored({run, skipped});
  const std::string csv = memory_accuracy_csv(report);
  EXPECT_NE(csv.find("\na,one,fit,20,"), std::string::npos);
  EXPECT_NE(csv.find(",right,\nb,one,fit,,,,,,,,sizes of experts unknown\n"), std::string::npos);
  const std::string text = memory_accuracy_text(report);
  EXPECT_NE(text.find("one: logged max, GB"), std::string::npos);
  EXPECT_NE(text.find("sizes of experts unknown  1"), std::string::npos);
}

/// Commas, quotes and bytes that are no UTF-8 stay inside their cell and their string.
TEST(MemoryReport, WordsOfTheTableMayBeAnyBytes) {
  MeasuredRun run = small_run("a");
  run.family = "two, \"x\xff";
  const MemoryAccuracy report = scored({run});
  const CsvTable table = parse_csv(memory_accuracy_csv(report), "rows.csv");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0].cells[1], run.family);
  const auto json = nlohmann::json::parse(memory_accuracy_json(report));
  EXPECT_EQ(json["families"][0]["family"], "two, \"x\xEF\xBF\xBD");
}

}  // namespace
}  // namespace scenarios
