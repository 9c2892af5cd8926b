#include "tests/programs/small_plans.h"

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

strategies::TrainingSpec small_training() {
  strategies::TrainingSpec training;
  training.sequence_length = 32;
  training.global_batch = 16;
  return training;
}

std::vector<SmallPlan> small_plans() {
  std::vector<SmallPlan> plans;
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
    }
  }
  return plans;
}

}  // namespace tests
