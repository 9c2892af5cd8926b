// The sizes of one rank's share of a transformer.
#pragma once

#include <cstdint>
#include <vector>

#include "hw_models/kernel.h"
#include "strategies/implementation.h"
#include "strategies/model.h"
#include "strategies/plan.h"
#include "strategies/training.h"
#include "strategies/transformer/narrow_format.h"

namespace strategies {

/// The next multiple, `value` itself if it is one.
std::int64_t round_up(std::int64_t value, std::int64_t multiple);

/// Of a layer with experts, per microbatch, on one rank.
///   routed   = tokens_between x per_token, or experts x capacity
///   received = routed x load of the rank,  rows = received x expert_tensor
struct ExpertShapes {
  std::int64_t experts = 1, local = 1;  ///< of a layer, of this rank
  std::int64_t per_token = 1;
  std::int64_t ffn = 1, up = 1;  ///< columns of one expert on this rank
  std::int64_t shared_ffn = 0, shared_up = 0;
  std::int64_t routed = 1;                ///< rows that this rank sends to experts
  std::int64_t received = 1;              ///< rows that are sent to this rank's experts by its expert group
  std::int64_t rows = 1;                  ///< rows that its experts multiply: those of all expert tensor ranks
  bool counted = true;                    ///< sizes depend on the router's choices: the host must know them
  std::vector<std::int64_t> received_by;  ///< by member of the expert group, where they differ

  /// Rows of one product of a grouped kernel.
  std::int64_t rows_each() const { return (rows + local - 1) / local; }
};

/// Elements, per microbatch, on one rank.
struct Shapes {
  std::int64_t batch = 1;           ///< sequences of a microbatch
  std::int64_t sequence = 1;        ///< tokens of one sequence on this rank (divided by the context dimension)
  std::int64_t tokens = 1;          ///< batch x sequence
  std::int64_t tokens_between = 1;  ///< rows of the residual stream: tokens / tensor under sequence parallelism
  std::int64_t hidden = 1;
  std::int64_t heads = 1, kv_heads = 1, head_dim = 1;
  std::int64_t value_dim = 1;       ///< of a head's value: head_dim but in latent attention
  std::int64_t query = 1, qkv = 1;  ///< columns: heads x head_dim; plus keys and values
  std::int64_t attended = 1;        ///< columns of attention's output: heads x value_dim
  std::int64_t ffn = 1, up = 1;     ///< columns of the MLP's inner product, of the up projection (2 x ffn when gated)
  std::int64_t vocabulary = 1;      ///< padded, on this rank
  std::int64_t padded_vocabulary = 1;                     ///< over all ranks
  ExpertShapes expert;                                    ///< meaningful in a mixture of experts
  NarrowFormat narrow;                                    ///< operands of the layers' products
  int layers = 0;                                         ///< of the model
  hw_models::DType activation = hw_models::DType::kBf16;  ///< stored activations and messages
  std::int64_t activation_bytes = 2;

  /// The products of `layer` take narrow operands.
  bool narrows(int layer) const {
    const bool last = layer < layers && layer >= layers - narrow.use.wide_layers;  // extra prediction layers follow
    return narrow.on && layer >= narrow.use.wide_layers && !last;
  }
  hw_models::DType operands(int layer) const { return narrows(layer) ? narrow.dtype : activation; }
  std::int64_t stream_bytes() const { return tokens_between * hidden * activation_bytes; }
  std::int64_t full_bytes() const { return tokens * hidden * activation_bytes; }
};

/// How much of the routed rows goes to the ranks of an expert group; even where the capacity is fixed.
RankLoads expert_loads(const ModelSpec& model, const TrainingSpec& training, const PlanSpec& plan);

/// `busiest`: of the rank with the busiest experts; else of the others. The same where loads are even.
Shapes shapes_of(const ModelSpec& model, const TrainingSpec& training, const PlanSpec& plan,
                 const Implementation& implementation, bool busiest = true);

}  // namespace strategies
