#include "tests/programs/expert_plans.h"

#include <array>

#include "tests/programs/small_plans.h"

namespace tests {

using strategies::ExpertSpec;
using strategies::Implementation;
using strategies::ModelSpec;
using strategies::PlanSpec;
using strategies::Recompute;

ModelSpec small_experts() {
  ModelSpec model = small_model();
  model.name = "small-experts";
  model.experts = ExpertSpec{.experts = 8, .per_token = 2, .ffn = 32, .shared_ffn = 64, .leading_dense_layers = 1};
  return model;
}

ModelSpec small_gpt_experts() {
  ModelSpec model = small_gpt();
  model.name = "small-gpt-experts";
  model.expert_bias = true;
  model.experts = ExpertSpec{.experts = 4,
                             .per_token = 1,
                             .ffn = 64,
                             .shared_ffn = 32,
                             .frequency = 2,
                             .shared_gate = true,
                             .router_bias = true};
  return model;
}

ModelSpec small_latent_experts() {
  ModelSpec model = small_latent();
  model.name = "small-latent-experts";
  model.experts = small_experts().experts;
  return model;
}

namespace {

/// How a stack may differ in what it makes of experts.
std::vector<ExpertPlan> variants(const ExpertPlan& plain) {
  std::vector<ExpertPlan> all;
  const auto add = [&](const char* extra, auto change) {
    all.push_back(plain);
    all.back().name += extra;
    change(all.back());
  };
  add("", [](ExpertPlan&) {});
  add(" full zero", [](ExpertPlan& p) { p.plan.recompute = Recompute::kFull, p.plan.zero = 1; });
  add(" one by one", [](ExpertPlan& p) {
    p.implementation.grouped_experts = false;
    p.implementation.fused_elementwise = p.implementation.fused_gradient_accumulation = false;
    p.implementation.overlap_gradient_reduce = p.implementation.overlap_parameter_gather = false;
    p.implementation.dropout = p.implementation.half_gradients_until_end = p.implementation.blocking_launches = true;
  });
  add(" skewed", [](ExpertPlan& p) { p.training.routing.exponent = 0.7, p.plan.zero = 1; });
  add(" capacity", [](ExpertPlan& p) { p.model.experts->capacity_factor = 1.25; });
  for (const bool keeps : {true, false}) {
    add(keeps ? " mxfp8" : " mxfp8 again", [keeps](ExpertPlan& p) {
      p.training.precision = hw_models::DType::kMxfp8;
      p.training.scaling = strategies::Scaling::kMicroscaling;
      p.implementation.low_precision.keeps_narrow = keeps;
      p.implementation.low_precision.recipes = {
          {strategies::Scaling::kMicroscaling,
           keeps ? strategies::NarrowWeights::kBeside : strategies::NarrowWeights::kEachUse}};
    });
  }
  add(" zb-h1", [](ExpertPlan& p) {
    p.plan.schedule = "zb-h1";
    if (p.plan.pipeline == 1) p.plan.schedule = "gpipe";
  });
  return all;
}

}  // namespace

std::vector<ExpertPlan> expert_plans() {
  struct Mesh {
    int tensor, pipeline, data, context, expert, expert_tensor;
  };
  std::vector<ExpertPlan> plans;
  for (const Mesh& mesh : {Mesh{1, 1, 1, 1, 1, 0}, Mesh{1, 1, 4, 1, 4, 0}, Mesh{2, 2, 2, 1, 2, 0},
                           Mesh{2, 1, 4, 1, 4, 1}, Mesh{1, 2, 4, 1, 2, 2}, Mesh{1, 1, 2, 2, 4, 1}}) {
    PlanSpec plan;
    plan.tensor = mesh.tensor, plan.pipeline = mesh.pipeline, plan.data = mesh.data, plan.context = mesh.context;
    plan.expert = mesh.expert, plan.expert_tensor = mesh.expert_tensor;
    plan.sequence_parallel = plan.tensor > 1;
    for (const ModelSpec& model : {small_experts(), small_gpt_experts(), small_latent_experts()}) {
      const std::string name = model.name + " t" + std::to_string(mesh.tensor) + " p" + std::to_string(mesh.pipeline) +
                               " d" + std::to_string(mesh.data) + " c" + std::to_string(mesh.context) + " e" +
                               std::to_string(mesh.expert) + " et" + std::to_string(mesh.expert_tensor);
      for (const ExpertPlan& variant : variants({name, model, small_training(), plan, Implementation{}})) {
        plans.push_back(variant);
      }
    }
  }
  return plans;
}

}  // namespace tests
