// Everything the writers of one stage's blocks share.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "strategies/implementation.h"
#include "strategies/model.h"
#include "strategies/plan.h"
#include "strategies/program/program.h"
#include "strategies/transformer/parameters.h"
#include "strategies/transformer/shapes.h"

namespace strategies {

/// The families of groups every dense plan has. Those of one rank cost nothing and are left out of the operations.
struct PlanGroups {
  GroupId tensor;     ///< ranks that split one layer
  GroupId data;       ///< replicas: data x context
  GroupId context;    ///< ranks that split one sequence; only with context > 1
  GroupId shard;      ///< replicas that share what ZeRO shards: all of them, or those of one set of shards (HSDP)
  GroupId replicate;  ///< holders of the same piece; only where there are several sets of shards
  /// The two holders of a tied embedding; only where they are on different stages.
  std::optional<GroupId> embedding;
  GroupId world;
  // Of a mixture of experts.
  GroupId expert;                  ///< ranks that share the experts of a layer
  GroupId expert_tensor;           ///< ranks that share each expert
  GroupId expert_data;             ///< replicas of an expert
  std::optional<GroupId> replica;  ///< all ranks of a pipeline stage; only where updates are validated afterwards
};

/// What a layer of experts keeps for its backward pass, in place of an MLP's `up` and `activated`.
struct ExpertBuffers {
  BufferId routes;     ///< scores [tokens_between, experts], chosen experts and places of their rows
  BufferId input;      ///< [rows, hidden] by expert, narrow where the stack keeps narrow operands
  BufferId up;         ///< [rows, expert up]
  BufferId activated;  ///< [rows, expert ffn], as input
  // With shared experts.
  std::optional<BufferId> shared_normed = std::nullopt;  ///< kept narrow operand; else mlp_normed serves
  std::optional<BufferId> shared_up = std::nullopt, shared_activated = std::nullopt;
};

/// What latent attention keeps in front of queries, keys and values. Rows: tokens_between. Normed latents are narrow
/// where the stack keeps narrow operands.
struct LatentBuffers {
  BufferId query, query_normed;  ///< [query rank], where queries are compressed
  BufferId kv;                   ///< [kv rank + rotary part of the keys]
  BufferId kv_normed;            ///< [kv rank]
};

/// An LM head and its loss: the model's, or that of an extra prediction layer, which has a norm of its own and shares
/// the table.
struct Head {
  BufferId input;  ///< residual stream
  BufferId normed, probabilities;
  std::string norm = "final_norm";
  int layer = -1;  ///< the extra prediction layer
};

/// One module of multi-token prediction, in front of its layer and behind it.
struct PredictionBuffers {
  BufferId embedded;  ///< rows of the tokens that follow [tokens_between, hidden]
  BufferId joined;    ///< both norms side by side [tokens_between, 2 hidden]
  Head head;
};

/// Activations of one layer that backward reads. Kept from forward to backward of a microbatch, or, under full
/// recomputation, only `input`; the others then live within one block.
struct LayerBuffers {
  BufferId input;             ///< residual stream entering the layer [tokens_between, hidden]
  BufferId attention_normed;  ///< [tokens_between, hidden], narrow where the stack keeps narrow operands
  std::optional<LatentBuffers> latent = std::nullopt;
  BufferId qkv;                                              ///< [tokens, qkv]
  BufferId context;                                          ///< attention output [tokens, attended]
  std::optional<BufferId> narrow_context = std::nullopt;     ///< and as kept operand, beside it
  std::optional<BufferId> exchanged_context = std::nullopt;  ///< of all tokens and a share of the heads: all-to-all
  BufferId softmax;         ///< flash: log-sum-exp [heads, tokens] fp32; unfused: probabilities (and dropout mask)
  BufferId attention_mask;  ///< dropout mask of the residual add, 1 byte an element; only with dropout
  BufferId middle;          ///< residual stream between attention and MLP
  BufferId mlp_normed;
  BufferId up;         ///< [tokens, up]
  BufferId activated;  ///< [tokens, ffn], as attention_normed
  BufferId mlp_mask;
  std::optional<ExpertBuffers> experts =
      std::nullopt;  ///< in a layer with experts, where `up` and `activated` do not exist
};

/// What the stages of a Program have in common.
struct StageInputs {
  const ModelSpec& model;
  const TrainingSpec& training;
  const PlanSpec& plan;
  const Implementation& implementation;
  const Shapes& shapes;
  PlanGroups groups;
  bool splits_backward = false;  ///< the schedule has blocks of weight gradients
};

struct Stage : StageInputs {
  Role& role;
  StageParameters& parameters;
  std::map<int, LayerBuffers> layers = {};          ///< by global layer index
  Head head = {};                                   ///< last virtual stage only
  std::vector<PredictionBuffers> predictions = {};  ///< last virtual stage only

  /// Where a chunk and the next one share this stage: what one hands to the other, activation and gradient.
  std::optional<BufferId> handed_activation = std::nullopt, handed_gradient = std::nullopt;

  /// Gathered sequences that survive the step, if the stack has them.
  std::optional<BufferId> column_gathers = std::nullopt, row_gathers = std::nullopt;
  int context_rank = 0;  ///< whose work this is where context ranks do not do the same

  bool tensor_parallel() const { return plan.tensor > 1; }
  bool gathers_sequence() const { return plan.sequence_parallel && tensor_parallel(); }
  int replicas() const { return plan.replicas(); }
  /// Some gradients have to be summed over ranks.
  bool reduces_gradients() const { return replicas() > 1 || (model.experts && plan.expert_replicas() > 1); }
  /// The format in which weights are gathered.
  hw_models::DType gathered() const {
    const bool wide = shapes.activation == hw_models::DType::kFp32;
    return wide ? hw_models::DType::kFp32 : implementation.parameter_gather;
  }
  bool gathers_narrow(const Parameter& parameter) const { return parameter.narrow && shapes.narrow.use.narrow_gather; }
  /// Of `elements` weights, `narrow` of which travel in the narrow format.
  std::int64_t gathered_bytes(std::int64_t elements, std::int64_t narrow) const {
    const auto wide = static_cast<double>(elements - narrow) * hw_models::info(gathered()).bytes;
    return static_cast<std::int64_t>(wide) + shapes.narrow.bytes(narrow);
  }
  /// The product of gate and value is a pass of its own, behind the activation of the gate.
  bool separate_gate() const {
    return model.gated_mlp && !implementation.fused_elementwise && !implementation.fused_gate;
  }
  /// Every stage goes on with the norm of the gradients of the stages before it and checks the rest later.
  bool validates_afterwards() const { return groups.replica.has_value(); }
  Recompute recompute_of(int layer) const;  ///< what the stack makes of the plan's word
  /// Tokens that a query of the layer sees; 0 = all before it.
  std::int64_t window(int layer) const { return window_of(model, layer, training.sequence_length); }
};

/// Creates the activation buffers of one layer.
LayerBuffers add_layer_buffers(const Stage& stage, int layer);
/// Creates what the LM head and the loss keep, and those of extra prediction layers with these.
void add_head_buffers(Stage& stage);
/// Creates what the stack's libraries hold on to from step to step.
void add_persistent_buffers(Stage& stage);

}  // namespace strategies
