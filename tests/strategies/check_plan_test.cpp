#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "strategies/build_program.h"
#include "tests/programs/small_plans.h"

namespace strategies {
namespace {

struct Case {
  const char* name;
  std::function<void(ModelSpec&, TrainingSpec&, PlanSpec&)> change;
  std::string expected;  ///< "path: message (advice)" of every finding, one a line; warnings marked
};

std::string text_of(const std::vector<PlanFinding>& findings) {
  std::string text;
  for (const PlanFinding& finding : findings) {
    text += (finding.warning ? "warning " : "") + finding.path + ": " + finding.message + " (" + finding.advice + ")\n";
  }
  return text;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases{
      {"nothing wrong", [](ModelSpec&, TrainingSpec&, PlanSpec&) {}, ""},
      {"tensor", [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.tensor = 3; },
       "plan.tensor: 'tensor: 3' does not divide the model's 8 attention heads (use 1, 2, 4 or 8)\n"
       "plan.tensor: 'tensor: 3' does not divide the model's 128 MLP columns (use 1, 2, 4, 8 or 16)\n"},
      {"key-value heads",
       [](ModelSpec& m, TrainingSpec&, PlanSpec& p) { m.kv_heads = 3, m.heads = 12, m.ffn = 120, p.tensor = 2; },
       "plan.tensor: 'tensor: 2' neither divides nor is a multiple of the model's 3 key-value heads (use 1 or 3)\n"},
      {"batch", [](ModelSpec&, TrainingSpec& t, PlanSpec& p) { t.global_batch = 17, p.data = 4, p.micro_batch = 2; },
       "training.global_batch: 'global_batch: 17' is not a multiple of data x micro_batch = 4 x 2 = 8 (use 16 or "
       "24)\n"},
      {"sequence",
       [](ModelSpec&, TrainingSpec& t, PlanSpec& p) {
         t.sequence_length = 31, p.tensor = 2, p.sequence_parallel = true;
       },
       "training.sequence_length: sequence parallelism splits 31 tokens over 'tensor: 2', which does not divide them "
       "(use 32)\n"},
      {"useless sequence parallelism", [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.sequence_parallel = true; },
       "warning plan.sequence_parallel: sequence parallelism does nothing with 'tensor: 1' ()\n"},
      {"positions",
       [](ModelSpec& m, TrainingSpec& t, PlanSpec&) {
         m.position = PositionKind::kLearned, m.max_positions = 1024, t.sequence_length = 2048;
       },
       "training.sequence_length: the model's position table has only 1024 rows (use at most 1024)\n"},
      {"schedule", [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.schedule = "2f2b"; },
       "plan.schedule: unknown schedule '2f2b' (known: 1f1b, gpipe, interleaved, zb-h1, zb-1p, zb-2p, zb-v, "
       "dualpipe-v)\n"},
      {"chunks", [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.pipeline = 2, p.chunks = 2; },
       "plan.chunks: schedule '1f1b' runs one chunk per stage, not 2 (use 'schedule: interleaved' or 'chunks: 1')\n"},
      {"no chunks", [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.pipeline = 2, p.schedule = "interleaved"; },
       "plan.chunks: schedule 'interleaved' needs at least 2 chunks per stage (use 'chunks: 2' or 'schedule: 1f1b')\n"},
      {"interleaved microbatches",
       [](ModelSpec&, TrainingSpec& t, PlanSpec& p) {
         p.pipeline = 4, p.chunks = 2, p.schedule = "interleaved", t.global_batch = 6;
       },
       "training.global_batch: schedule 'interleaved' needs the 6 microbatches of a replica to be a multiple of "
       "'pipeline: 4' (use 'global_batch: 8')\n"},
      {"too many stages", [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.pipeline = 16; },
       "plan.pipeline: the model's 8 layers do not fill pipeline x chunks = 16 stages (use at most 8 stages in all)\n"},
      {"uneven", [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.pipeline = 3; },
       "warning plan.pipeline: the model's 8 layers do not divide over 3 stages; split as 2/3/3 (set "
       "'layers_per_stage' "
       "to choose another split)\n"},
      {"own split, wrong length",
       [](ModelSpec&, TrainingSpec&, PlanSpec& p) {
         p.layers_per_stage = {4, 4};
       },
       "plan.layers_per_stage: 'layers_per_stage' has 2 entries for pipeline x chunks = 1 stages (give 1 numbers)\n"},
      {"own split, wrong sum", [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.layers_per_stage = {7}; },
       "plan.layers_per_stage: 'layers_per_stage' adds up to 7 layers, the model has 8 ()\n"},
      {"rank order", [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.rank_order = "tp-tp-dp-pp"; },
       "plan.rank_order: 'rank_order: tp-tp-dp-pp' must name tp, cp, dp and pp once each (e.g. tp-cp-ep-dp-pp)\n"},
      {"not yet", [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.expert = 2; },
       "plan.expert: 'small' has no experts to spread over ranks (use 1)\n"},
      {"ZeRO 2 in a pipeline", [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.pipeline = 2, p.data = 2, p.zero = 2; },
       "plan.zero: ZeRO 2 reduces gradients after every microbatch; a pipeline adds them up and reduces once (use "
       "'zero: 1' or 'zero: 3')\n"},
      {"ZeRO 2 with whole gradients",
       [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.data = 2, p.zero = 2, p.reduce_each_microbatch = false; },
       "plan.reduce_each_microbatch: gradients that are reduced once a step are whole until then: that is ZeRO 1 (use "
       "'zero: 1')\n"},
      {"ZeRO 3 on one stage", [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.schedule = "gpipe", p.zero = 3; },
       "plan.schedule: schedule 'gpipe' on one stage has several microbatches in flight, each with whole weights of "
       "its own under ZeRO 3 (use 'schedule: 1f1b')\n"},
      {"ZeRO 3 with split backward passes",
       [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.pipeline = 2, p.data = 2, p.schedule = "zb-h1", p.zero = 3; },
       "plan.schedule: schedule 'zb-h1' computes weight gradients in passes of their own, which ZeRO 2 and 3 do not "
       "reduce (use 'schedule: 1f1b' or 'zero: 1')\n"},
      {"what only ZeRO 3 does",
       [](ModelSpec&, TrainingSpec&, PlanSpec& p) {
         p.zero = 1, p.shard = 2, p.prefetch = 2;
         p.reshard_after_forward = p.reduce_each_microbatch = true;
       },
       "plan.shard: 'shard' says which replicas share the shards of the weights, which 'zero: 1' does not do (use "
       "'zero: 3' or leave it out)\n"
       "plan.prefetch: 'prefetch' says how far weights are gathered ahead, which 'zero: 1' does not do (use 'zero: 3' "
       "or "
       "leave it out)\n"
       "plan.reshard_after_forward: 'reshard_after_forward' says when whole weights are given back, which 'zero: 1' "
       "does "
       "not do (use 'zero: 3' or leave it out)\n"
       "plan.reduce_each_microbatch: 'reduce_each_microbatch' says when gradients become shards, which 'zero: 1' does "
       "not do (use 'zero: 2' or leave it out)\n"},
      {"sets of shards", [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.data = 8, p.zero = 3, p.shard = 3; },
       "plan.shard: 'shard: 3' does not divide 'data: 8' (use 2, 4 or 8)\n"},
      {"a set of one", [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.data = 8, p.zero = 3, p.shard = 1; },
       "plan.shard: 'shard: 1' shares nothing (use 'zero: 0', or at least 'shard: 2')\n"},
      {"too many microbatches", [](ModelSpec&, TrainingSpec& t, PlanSpec&) { t.global_batch = 2'000'000; },
       "training.global_batch: a replica would run 2000000 microbatches a step, more than 1000000 (use a larger "
       "micro_batch or more data ranks)\n"},
  };
  return kCases;
}

TEST(CheckPlan, SaysWhatIsWrongAndWhatWouldBeRight) {
  for (const Case& c : cases()) {
    ModelSpec model = tests::small_model();
    TrainingSpec training = tests::small_training();
    PlanSpec plan;
    c.change(model, training, plan);
    EXPECT_EQ(text_of(check_plan(model, training, plan, {})), c.expected) << c.name;
  }
}

}  // namespace
}  // namespace strategies
