// A small mixture of experts and plans of it, for tests of the Program.
#pragma once

#include <string>
#include <vector>

#include "strategies/build_program.h"

namespace tests {

struct ExpertPlan {
  std::string name;
  strategies::ModelSpec model;
  strategies::TrainingSpec training;
  strategies::PlanSpec plan;
  strategies::Implementation implementation;

  strategies::Program program() const { return strategies::build_program(model, training, plan, implementation); }
};

/// small_model() with 8 experts of 32 from layer 1 on, 2 a token, and a shared one of 64.
strategies::ModelSpec small_experts();
/// small_gpt() with 4 experts of 64 in every second layer, 1 a token, biases everywhere, a gated shared one.
strategies::ModelSpec small_gpt_experts();

/// small_latent() with the experts of small_experts(): DeepSeek-V3 in small.
strategies::ModelSpec small_latent_experts();

/// Data x tensor x pipeline x context x expert x expert tensor up to 16 ranks: schedules, recomputation, ZeRO, formats,
/// routings, capacities, grouped kernels or not.
std::vector<ExpertPlan> expert_plans();

}  // namespace tests
