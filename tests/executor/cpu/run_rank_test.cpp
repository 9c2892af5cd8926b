#include "executor/cpu/run_rank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "strategies/build_program.h"
#include "tests/executor/trainings.h"
#include "tests/sanitized.h"

namespace tests {
namespace {

using hw_models::OptimizerKind;
using strategies::Implementation;
using strategies::PlanSpec;
using strategies::Recompute;

constexpr double kTolerance = 1e-4;

struct Case {
  std::string name;
  PlanSpec plan;
  void (*change)(Implementation& implementation) = nullptr;
};

void overlaps(Implementation& i) {
  i.overlap_gradient_reduce = i.overlap_parameter_gather = i.overlap_weight_gradient = true;
  i.blocking_sends = false;
  i.bucket_parameters = 5000;  // several a stage
  i.scatter_gather_messages = true;
}

void other_stack(Implementation& i) {
  i.fused_cross_entropy = i.fused_gradient_accumulation = i.gradient_norm = false;
  i.sharded_reduction = strategies::ShardedReduction::kAllReduce;
  i.selective = strategies::SelectiveRecompute::kAlternateLayers;
  i.blocking_receives = i.blocking_launches = i.persistent_gathers = i.flat_parameter_gather = true;
  i.vocabulary_multiple = 96;  // padded
}

void in_order(Implementation& i) { i.balanced_context = false; }

/// `kv_heads` of the model: with all-to-all a tensor rank's are dealt out again.
std::vector<Case> context_cases(std::int64_t kv_heads) {
  using strategies::ContextExchange;
  struct Form {
    std::string name;
    ContextExchange exchange;
  };
  std::vector<Case> all;
  for (const Form& form : {Form{"ring", ContextExchange::kRing}, Form{"all_gather", ContextExchange::kAllGather},
                           Form{"all_to_all", ContextExchange::kAllToAll}}) {
    PlanSpec plan;
    plan.micro_batch = 2;
    plan.context = 2;
    plan.context_exchange = form.exchange;
    all.push_back({"context_2_" + form.name, plan});
    all.push_back({"context_2_in_order_" + form.name, plan, in_order});
    PlanSpec several = plan;
    several.tensor = several.pipeline = 2;
    if (form.exchange == ContextExchange::kAllToAll && kv_heads < 4) several.tensor = 1;
    several.sequence_parallel = several.tensor > 1;
    several.zero = 1;
    several.recompute = Recompute::kFull;
    all.push_back({"context_2_pipeline_2_" + form.name, several, overlaps});
    several.zero = 3;
    several.pipeline = 1;
    several.data = 2;
    several.recompute = Recompute::kSelective;
    all.push_back({"context_2_data_2_zero_3_" + form.name, several, in_order});
    if (form.exchange == ContextExchange::kAllToAll) continue;
    PlanSpec wide = plan;
    wide.context = 4;
    wide.recompute = Recompute::kSelective;
    all.push_back({"context_4_" + form.name, wide});
    wide.data = 2;
    wide.recompute = Recompute::kNone;
    all.push_back({"context_4_in_order_" + form.name, wide, in_order});
  }
  return all;
}

std::vector<Case> cases(std::int64_t kv_heads) {
  const auto plan = [](int tensor, int pipeline, int data) {
    PlanSpec p;
    p.tensor = tensor, p.pipeline = pipeline, p.data = data;
    p.micro_batch = 2;
    return p;
  };
  std::vector<Case> all;
  const auto add = [&all](std::string name, PlanSpec p, auto change,
                          void (*implementation)(Implementation&) = nullptr) {
    change(p);
    all.push_back({std::move(name), std::move(p), implementation});
  };
  const auto nothing = [](PlanSpec&) {};
  const auto zero = [](PlanSpec& p) { p.zero = 1; };
  const auto sequence = [](PlanSpec& p) { p.sequence_parallel = true; };
  const auto full = [](PlanSpec& p) { p.recompute = Recompute::kFull; };
  const auto selective = [](PlanSpec& p) { p.recompute = Recompute::kSelective; };
  const auto gpipe = [](PlanSpec& p) { p.schedule = "gpipe"; };
  const auto interleaved = [](PlanSpec& p) { p.schedule = "interleaved", p.chunks = 2; };
  const auto zb_v = [](PlanSpec& p) { p.schedule = "zb-v", p.chunks = 2; };
  add("other_microbatches", plan(1, 1, 1), [](PlanSpec& p) { p.micro_batch = 8; });
  add("recompute_full", plan(1, 1, 1), full);
  add("recompute_selective", plan(1, 1, 1), selective);
  add("data_2", plan(1, 1, 2), nothing);
  add("data_4", plan(1, 1, 4), nothing, overlaps);
  add("data_2_zero", plan(1, 1, 2), zero);
  add("data_4_zero", plan(1, 1, 4), zero, overlaps);
  add("tensor_2", plan(2, 1, 1), nothing);
  add("tensor_2_sequence", plan(2, 1, 1), sequence);
  add("pipeline_2", plan(1, 2, 1), nothing);
  add("pipeline_4_gpipe", plan(1, 4, 1), gpipe);
  add("pipeline_2_interleaved", plan(1, 2, 1), interleaved);
  add("pipeline_3_uneven", plan(1, 3, 1), [](PlanSpec& p) { p.layers_per_stage = {1, 0, 3}; });
  add("pipeline_2_zb_h1", plan(1, 2, 1), [](PlanSpec& p) { p.schedule = "zb-h1"; });
  add("pipeline_4_zb_1p", plan(1, 4, 1), [](PlanSpec& p) { p.schedule = "zb-1p"; });
  add("pipeline_3_zb_2p_uneven", plan(1, 3, 1), [](PlanSpec& p) {
    p.schedule = "zb-2p", p.layers_per_stage = {1, 0, 3};
  });
  add("pipeline_2_zb_v", plan(1, 2, 1), zb_v);
  add("pipeline_2_zb_v_uneven", plan(1, 2, 1), [&](PlanSpec& p) { zb_v(p), p.layers_per_stage = {2, 1, 0, 1}; });
  add("pipeline_2_dualpipe_v", plan(1, 2, 1), [](PlanSpec& p) { p.schedule = "dualpipe-v", p.chunks = 2; });
  add(
      "tensor_2_pipeline_2_data_2_zb_v", plan(2, 2, 2), [&](PlanSpec& p) { zero(p), sequence(p), zb_v(p), full(p); },
      overlaps);
  add(
      "tensor_2_pipeline_2_data_2_zb_2p_other", plan(2, 2, 2),
      [&](PlanSpec& p) { zero(p), sequence(p), selective(p), p.schedule = "zb-2p"; }, other_stack);
  add("tensor_2_data_2_zero_full", plan(2, 1, 2), [&](PlanSpec& p) { zero(p), full(p), sequence(p); });
  add("tensor_2_pipeline_2_data_2", plan(2, 2, 2), [&](PlanSpec& p) { zero(p), selective(p); });
  add(
      "tensor_2_pipeline_2_data_2_overlaps", plan(2, 2, 2),
      [&](PlanSpec& p) { zero(p), sequence(p), interleaved(p), full(p); }, overlaps);
  add(
      "tensor_2_pipeline_2_data_2_other", plan(2, 2, 2), [&](PlanSpec& p) { zero(p), sequence(p), selective(p); },
      other_stack);
  const auto stage2 = [](PlanSpec& p) { p.zero = 2, p.micro_batch = 1; };
  const auto stage3 = [](PlanSpec& p) { p.zero = 3, p.micro_batch = 1; };
  add("data_4_zero_2", plan(1, 1, 4), stage2);
  add("data_4_zero_2_other", plan(1, 1, 4), stage2, other_stack);
  add("data_4_zero_3", plan(1, 1, 4), stage3);
  add(
      "data_4_zero_3_full", plan(1, 1, 4), [&](PlanSpec& p) { stage3(p), full(p); }, overlaps);
  add(
      "data_4_zero_3_other", plan(1, 1, 4), [&](PlanSpec& p) { stage3(p), selective(p); }, other_stack);
  add(
      "data_4_zero_3_sets", plan(1, 1, 4), [&](PlanSpec& p) { stage3(p), p.shard = 2, p.prefetch = 3; }, overlaps);
  add("data_4_zero_3_whole_gradients", plan(1, 1, 4),
      [&](PlanSpec& p) { stage3(p), p.shard = 2, p.reduce_each_microbatch = false; });
  add("data_2_zero_3_stays_whole", plan(1, 1, 2), [&](PlanSpec& p) { stage3(p), p.reshard_after_forward = false; });
  add(
      "data_2_zero_3_gathers_once", plan(1, 1, 2),
      [&](PlanSpec& p) { stage3(p), p.reshard_after_forward = p.reduce_each_microbatch = false; }, overlaps);
  add(
      "tensor_2_data_2_zero_3", plan(2, 1, 2), [&](PlanSpec& p) { stage3(p), sequence(p), full(p); }, overlaps);
  add(
      "pipeline_2_data_2_zero_3", plan(1, 2, 2), [&](PlanSpec& p) { stage3(p), interleaved(p); }, overlaps);
  add(
      "tensor_2_pipeline_2_data_2_zero_3", plan(2, 2, 2),
      [&](PlanSpec& p) { stage3(p), p.reshard_after_forward = p.reduce_each_microbatch = true; }, overlaps);
  add(
      "pipeline_2_data_4_scattered", plan(1, 2, 4), [&](PlanSpec& p) { zero(p); }, overlaps);
  for (const Case& c : context_cases(kv_heads)) all.push_back(c);
  add(
      "other_order", plan(2, 2, 2), [](PlanSpec& p) { p.rank_order = "dp-pp-tp-cp"; }, overlaps);
  return all;
}

struct Run {
  OptimizerKind optimizer;
  bool llama;
};

Training training_of(const Run& run, const Case& c) {
  Training t = tiny_training(run.llama ? tiny_llama() : tiny_gpt(), run.optimizer);
  t.plan = c.plan;
  if (c.change != nullptr) c.change(t.implementation);
  if (t.settings.gradient_clip > 0) t.implementation.gradient_norm = true;
  return t;
}

/// |a - b| / |b|
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += std::pow(double{a[i]} - double{b[i]}, 2);
    size += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(difference / size);
}

void expect_equal(const Trained& actual, const Trained& expected, bool has_norm) {
  ASSERT_EQ(actual.result.steps.size(), expected.result.steps.size());
  for (std::size_t i = 0; i < expected.result.steps.size(); ++i) {
    const executor::StepFigures &a = actual.result.steps[i], &e = expected.result.steps[i];
    EXPECT_NEAR(a.loss, e.loss, kTolerance * e.loss) << "step " << i;
    EXPECT_NEAR(a.gradient_norm, has_norm ? e.gradient_norm : -1, kTolerance * e.gradient_norm) << "step " << i;
  }
  ASSERT_EQ(actual.parameters.size(), expected.parameters.size());
  for (const auto& [name, values] : expected.parameters) {
    EXPECT_LE(distance(actual.parameters.at(name), values), kTolerance) << name;
  }
  EXPECT_TRUE(actual.result.replicas_identical);
}

class Equivalence : public testing::TestWithParam<Run> {};

TEST_P(Equivalence, EveryPlanTrainsAsOneRank) {
  const Trained expected = train(tiny_training(GetParam().llama ? tiny_llama() : tiny_gpt(), GetParam().optimizer));
  const double first = expected.result.steps.front().loss, last = expected.result.steps.back().loss;
  EXPECT_NEAR(first, std::log(256.0), 0.1) << "at first every byte is as likely";
  EXPECT_LE(last, 0.8 * first);
  const std::int64_t kv_heads = (GetParam().llama ? tiny_llama() : tiny_gpt()).kv_heads;
  for (const Case& c : tests::sampled(cases(kv_heads))) {
    SCOPED_TRACE(c.name);
    const Training t = training_of(GetParam(), c);
    ASSERT_NO_THROW(expect_equal(train(t), expected, t.implementation.gradient_norm));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Equivalence,
                         testing::Values(Run{OptimizerKind::kSgd, false}, Run{OptimizerKind::kSgd, true},
                                         Run{OptimizerKind::kAdamW, false}, Run{OptimizerKind::kAdamW, true}),
                         [](const auto& run) {
                           return std::string(run.param.llama ? "Llama" : "Gpt") +
                                  (run.param.optimizer == OptimizerKind::kSgd ? "Sgd" : "AdamW");
                         });

Training eight_ranks() {
  Training t = tiny_training(tiny_gpt(), OptimizerKind::kAdamW);
  t.plan.tensor = t.plan.pipeline = t.plan.data = 2;
  t.plan.zero = 1;
  t.settings.steps = 5;
  return t;
}

TEST(RunRank, TheSamePlanGivesTheSameBits) {
  const Trained first = train(eight_ranks()), second = train(eight_ranks());
  for (std::size_t i = 0; i < first.result.steps.size(); ++i) {
    EXPECT_EQ(first.result.steps[i].loss, second.result.steps[i].loss);
    EXPECT_EQ(first.result.steps[i].gradient_norm, second.result.steps[i].gradient_norm);
  }
  EXPECT_EQ(first.parameters, second.parameters);
}

TEST(RunRank, TheSeedDecides) {
  Training other = tiny_training(tiny_gpt(), OptimizerKind::kSgd);
  other.settings.steps = 2;
  const Trained first = train(other);
  other.settings.seed += 1;
  const Trained second = train(other);
  EXPECT_NE(first.result.steps[0].loss, second.result.steps[0].loss);
}

TEST(RunRank, RunsAndReportsEveryOperationOfTheProgram) {
  const Training t = eight_ranks();
  const strategies::Program program = strategies::build_program(t.model, t.training, t.plan, t.implementation);
  std::map<std::tuple<int, strategies::OperationInstance>, int> left;
  for (int rank = 0; rank < program.ranks(); ++rank) {
    const strategies::Role& role = program.roles[program.role_of_rank[static_cast<std::size_t>(rank)]];
    for (int step = 0; step < t.settings.steps; ++step) {
      for (std::uint32_t a = 0; a < role.schedule.size(); ++a) {
        const auto count = static_cast<std::uint32_t>(role.blocks[role.schedule[a].block].operations.size());
        for (std::uint32_t o = 0; o < count; ++o) ++left[{rank, {step, a, {o}}}];
      }
    }
  }
  std::int64_t last_end = 0;
  int last_rank = 0;
  for (const strategies::OperationRecord& record : train(t).result.records) {
    --left[{record.rank.value, record.instance}];
    if (record.rank.value != last_rank) last_end = 0;
    EXPECT_LE(last_end, record.begin_ns) << "one thread, one operation at a time";
    EXPECT_LE(record.begin_ns, record.end_ns);
    last_end = record.end_ns, last_rank = record.rank.value;
  }
  EXPECT_TRUE(std::ranges::all_of(left, [](const auto& entry) { return entry.second == 0; }));
}

TEST(RunRank, WarmupRaisesTheRateLinearly) {
  executor::RunSettings settings;
  settings.learning_rate = 8;
  settings.warmup_steps = 4;
  EXPECT_EQ(settings.rate_at(0), 2);
  EXPECT_EQ(settings.rate_at(2), 6);
  EXPECT_EQ(settings.rate_at(3), 8);
  EXPECT_EQ(settings.rate_at(100), 8);
}

}  // namespace
}  // namespace tests
