// What a run needs besides its Program: how long, from which numbers, and how weights follow gradients.
#pragma once

#include <cstdint>

namespace executor {

struct RunSettings {
  int steps = 100;
  std::uint64_t seed = 1;  ///< of initial weights and samples
  double learning_rate = 3e-4;
  int warmup_steps = 0;                              ///< the rate grows linearly over them
  double weight_decay = 0;                           ///< of matrices and tables, not of norms and biases
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;  ///< AdamW (GPT-3 and Llama; Brown et al. 2020, table 2.1 ff.)
  double gradient_clip = 0;                          ///< largest norm of the gradient over all parameters; 0 = any

  /// Of step `step` from 0.
  double rate_at(int step) const {
    if (step >= warmup_steps) return learning_rate;
    return learning_rate * (step + 1) / warmup_steps;
  }
};

}  // namespace executor
