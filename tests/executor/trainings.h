// Small trainings that run in seconds: every rank a thread, all in one process.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "executor/run_collector.h"
#include "executor/run_settings.h"
#include "strategies/implementation.h"
#include "strategies/model.h"
#include "strategies/plan.h"
#include "strategies/training.h"

namespace tests {

struct Training {
  strategies::ModelSpec model;
  strategies::TrainingSpec training;
  strategies::PlanSpec plan;
  strategies::Implementation implementation;
  executor::RunSettings settings;
};

struct Trained {
  executor::RunResult result;
  std::map<std::string, std::vector<float>> parameters;  ///< whole, by name, after the last step
};

/// Throws what the first rank throws.
Trained train(const Training& training);

/// As catalog/software/trainyard-cpu.yaml.
strategies::Implementation cpu_implementation();
/// Four layers, hidden 32, byte vocabulary: learned positions, LayerNorm, GELU, biases, tied tables.
strategies::ModelSpec tiny_gpt();
/// Rotation, RMSNorm, SwiGLU, two key-value heads, windows of six tokens in every other layer, a head of its own.
strategies::ModelSpec tiny_llama();
/// Either, 30 steps of 16 sequences of 16 bytes on one rank in single precision.
Training tiny_training(const strategies::ModelSpec& model, hw_models::OptimizerKind optimizer);

}  // namespace tests
