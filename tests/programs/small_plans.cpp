#include "tests/programs/small_plans.h"

#include <array>
#include <utility>

#include "strategies/pipeline/schedule.h"

namespace tests {

using strategies::Implementation;
using strategies::PlanSpec;
using strategies::Recompute;

strategies::ModelSpec small_model() {
  strategies::ModelSpec model;
  model.name = "small";
  model.layers = 8;
  model.hidden = 64;
  model.heads = 8;
  model.kv_heads = 4;
  model.head_dim = 8;
  model.ffn = 128;
  model.vocabulary = 1000;
  return model;
}

strategies::ModelSpec small_gpt() {
  strategies::ModelSpec model = small_model();
  model.name = "small-gpt";
  model.kv_heads = 8;
  model.gated_mlp = false;
  model.activation = strategies::Activation::kGelu;
  model.tied_embeddings = true;
  model.position = strategies::PositionKind::kLearned;
  model.max_positions = 32;
  model.norm = hw_models::NormKind::kLayerNorm;
  model.qkv_bias = model.attention_output_bias = model.mlp_bias = true;
  return model;
}

strategies::ModelSpec small_latent() {
  strategies::ModelSpec model = small_model();
  model.name = "small-latent";
  model.kv_heads = model.heads;
  model.latent = {.query_rank = 24, .kv_rank = 16, .rope_dim = 4, .nope_dim = 8, .value_dim = 6};
  model.head_dim = 12;
  model.extra_prediction_layers = 2;
  return model;
}

strategies::TrainingSpec small_training() {
  strategies::TrainingSpec training;
  training.sequence_length = 32;
  training.global_batch = 16;
  return training;
}

namespace {

/// ZeRO 2 and 3, as far as the plan may have them.
std::vector<SmallPlan> sharded_plans(PlanSpec plan) {
  std::vector<SmallPlan> plans;
  if (strategies::find_schedule(plan.schedule)->splits_backward) return plans;
  const auto add = [&plans](const PlanSpec& sharded, const Implementation& implementation, const std::string& name) {
    plans.push_back({name, sharded, implementation});
  };
  Implementation flat, rows;
  flat.fused_gradient_accumulation = flat.overlap_gradient_reduce = flat.overlap_parameter_gather = false;
  rows.fused_gradient_accumulation = false;
  rows.fp32_shards = rows.shards_rows = rows.keeps_last_layer = true;
  plan.recompute = Recompute::kFull;
  if (plan.pipeline == 1) {
    plan.zero = 2;
    add(plan, {}, " ZeRO 2");
    add(plan, flat, " ZeRO 2 flat");
    if (plan.schedule != "1f1b") return {};
  }
  plan.zero = 3;
  for (const bool reshards : {true, false}) {
    for (const bool each : {true, false}) {
      plan.reshard_after_forward = reshards;
      plan.reduce_each_microbatch = each;
      const std::string name = std::string(" ZeRO 3") + (reshards ? " reshards" : "") + (each ? " reduces" : "");
      add(plan, {}, name);
      add(plan, flat, name + " flat");
      add(plan, rows, name + " rows");
      if (plan.data < 4) continue;
      plan.shard = 2;
      plan.prefetch = 2;
      add(plan, rows, name + " sets");
      plan.shard = 0;
      plan.prefetch = 1;
    }
  }
  return plans;
}

/// Every form of context parallelism, balanced or not, with recomputation, tensor, data and pipeline ranks.
void add_context_plans(std::vector<SmallPlan>& plans) {
  using strategies::ContextExchange;
  for (const auto& [tensor, pipeline, data, context] :
       {std::array{1, 1, 1, 4}, std::array{2, 2, 1, 2}, std::array{1, 1, 2, 2}}) {
    for (const auto& [exchange, word] :
         {std::pair{ContextExchange::kRing, "ring"}, std::pair{ContextExchange::kAllGather, "all-gather"},
          std::pair{ContextExchange::kAllToAll, "all-to-all"}}) {
      for (const bool balanced : {true, false}) {
        for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
          PlanSpec plan;
          plan.tensor = tensor, plan.pipeline = pipeline, plan.data = data, plan.context = context;
          plan.sequence_parallel = tensor > 1;
          plan.zero = data > 1 ? 1 : 0;
          plan.context_exchange = exchange;
          plan.recompute = recompute;
          Implementation implementation;
          implementation.balanced_context = balanced;
          implementation.blocking_launches = data > 1 && recompute == Recompute::kFull;
          plans.push_back({"t" + std::to_string(tensor) + " p" + std::to_string(pipeline) + " d" +
                               std::to_string(data) + " c" + std::to_string(context) + " " + word +
                               (balanced ? " balanced " : " ") + std::to_string(static_cast<int>(recompute)),
                           plan, implementation});
        }
      }
    }
  }
}

}  // namespace

std::vector<SmallPlan> small_plans() {
  std::vector<SmallPlan> plans;
  add_context_plans(plans);
  const auto add = [&plans](const PlanSpec& plan, const Implementation& implementation, const std::string& extra) {
    plans.push_back({"t" + std::to_string(plan.tensor) + " p" + std::to_string(plan.pipeline) + " d" +
                         std::to_string(plan.data) + " " + plan.schedule + extra,
                     plan, implementation});
  };
  for (const auto& [tensor, pipeline, data] :
       {std::array{1, 1, 1}, std::array{1, 1, 4}, std::array{2, 1, 1}, std::array{1, 2, 1}, std::array{1, 4, 2},
        std::array{2, 2, 2}, std::array{4, 2, 1}}) {
    for (const strategies::Schedule& schedule : strategies::schedules()) {
      PlanSpec plan;
      plan.tensor = tensor;
      plan.pipeline = pipeline;
      plan.data = data;
      plan.schedule = schedule.name;
      plan.chunks = schedule.minimum_chunks;
      if (plan.chunks > 1 && pipeline == 1) continue;
      add(plan, {}, "");
      // Those that split the backward share all but their order: fewer of each.
      for (const Recompute recompute : {Recompute::kSelective, Recompute::kFull}) {
        plan.recompute = recompute;
        if (!schedule.splits_backward) add(plan, {}, recompute == Recompute::kFull ? " full" : " selective");
      }
      plan.zero = 1;
      plan.sequence_parallel = tensor > 1;
      if (!schedule.splits_backward) add(plan, {}, " full zero sequence");
      Implementation plain;
      plain.attention = hw_models::AttentionKernel::kUnfused;
      plain.dropout = plain.blocking_sends = plain.blocking_receives = plain.scatter_gather_messages = true;
      plain.overlap_gradient_reduce = plain.overlap_parameter_gather = plain.overlap_weight_gradient = false;
      plain.fused_cross_entropy = plain.fused_elementwise = plain.fused_gradient_accumulation = false;
      plain.casts_products = plain.blocking_launches = true;
      plain.half_gradients_until_end = plain.separate_buckets = plain.copies_keys_and_values = true;
      plain.persistent_gathers = plain.flat_parameter_gather = true;
      plain.library_workspace = hw_models::Bytes(1 << 20);
      plain.bucket_parameters = 0;
      plain.post_validation = true;
      add(plan, plain, " full zero plain");
      plan.recompute = Recompute::kNone;
      plan.sequence_parallel = false;
      add(plan, plain, " zero plain");
      Implementation other;
      other.sharded_reduction = strategies::ShardedReduction::kAllReduce;
      other.selective = strategies::SelectiveRecompute::kAlternateLayers;
      plan.recompute = Recompute::kSelective;
      if (schedule.splits_backward) plan.sequence_parallel = tensor > 1;
      add(plan, other, " alternate zero");
      if (plan.data == 1) continue;
      for (const SmallPlan& sharded : sharded_plans(plan)) add(sharded.plan, sharded.implementation, sharded.name);
    }
  }
  return plans;
}

}  // namespace tests
