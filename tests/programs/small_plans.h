// A small dense model and all small plans of it, for tests of the Program.
#pragma once

#include <string>
#include <vector>

#include "strategies/build_program.h"

namespace tests {

struct SmallPlan {
  std::string name;
  strategies::PlanSpec plan;
  strategies::Implementation implementation;
};

/// 8 layers, hidden 64, 8 heads with 4 key-value heads, gated MLP of 128, vocabulary 1000.
strategies::ModelSpec small_model();
/// The same, GPT-like: tied embeddings, learned positions, LayerNorm, biases, plain MLP.
strategies::ModelSpec small_gpt();
/// small_model() with latent attention and two extra prediction layers.
strategies::ModelSpec small_latent();
/// 16 sequences of 32 tokens.
strategies::TrainingSpec small_training();

/// Data x tensor x pipeline x context up to 8 ranks, every schedule, recomputation, ZeRO stage, sequence parallelism,
/// and the switches of the implementation.
std::vector<SmallPlan> small_plans();

}  // namespace tests
