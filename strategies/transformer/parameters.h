// The parameters of one pipeline stage and the static buffers that hold them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "strategies/implementation.h"
#include "strategies/model.h"
#include "strategies/plan.h"
#include "strategies/program/program.h"
#include "strategies/transformer/shapes.h"

namespace strategies {

struct Parameter {
  std::string name;  ///< "layers.3.attention.qkv.weight"
  int layer = -1;    ///< -1 for embedding, final norm and head
  int chunk = 0;
  std::int64_t elements = 0;       ///< on this rank
  std::int64_t rows = 1;           ///< of its first axis, on this rank
  bool tensor_replicated = false;  ///< every tensor rank holds all of it (norms)
  bool tied_copy = false;          ///< the last stage's copy of the embedding
  bool expert = false;             ///< replicated over the expert data group, not the data group
  bool narrow = false;             ///< its products take it in the narrow format
  BufferId weight, gradient;       ///< whole: what kernels work on
  /// This rank's pieces, where only those outlive the step.
  std::optional<BufferId> weight_shard = std::nullopt, gradient_shard = std::nullopt;

  BufferId held_weight() const { return weight_shard.value_or(weight); }
  BufferId held_gradient() const { return gradient_shard.value_or(gradient); }
};

/// Parameters in order of forward use.
class StageParameters {
 public:
  StageParameters(Role& role, const Shapes& shapes, const PlanSpec& plan, const Implementation& implementation,
                  hw_models::OptimizerKind optimizer)
      : role_(role), shapes_(shapes), plan_(plan), implementation_(implementation), optimizer_(optimizer) {}

  void add_embedding(const ModelSpec& model);
  void add_layer(const ModelSpec& model, int layer, int chunk);
  /// An extra prediction layer: its norms and its projection, then the layer.
  void add_prediction(const ModelSpec& model, int layer, int chunk);
  /// The embedding's copy on another stage.
  void add_embedding_copy(const ModelSpec& model, int chunk);
  /// Final norm and output table. `tied_copy`: the table is the embedding's copy on another stage; `shared`: it is
  /// the embedding of this very stage and adds nothing.
  void add_head(const ModelSpec& model, int chunk, bool tied_copy, bool shared);
  /// One optimizer buffer per chunk-independent stage: fp32 master, and for AdamW momentum and variance; padded shard
  /// under ZeRO >= 1. Each of them holds the parameters in their order.
  void add_optimizer_state();
  /// Narrow copies of the weights that outlive the step, if the stack has them.
  void add_narrow_copies();

  const Parameter& find(const std::string& name) const;  ///< aborts on an unknown name
  bool contains(const std::string& name) const;
  const std::vector<Parameter>& all() const { return parameters_; }
  std::int64_t elements() const;
  std::int64_t narrow_elements() const;
  /// Whole weights are narrow and nothing else: those that the stack keeps so, and gathered shards that travel so.
  bool narrow_alone(const Parameter& parameter) const {
    const bool arrives = plan_.shards_weights() && shapes_.narrow.use.narrow_gather;
    return parameter.narrow && (arrives || shapes_.narrow.use.weights == NarrowWeights::kAlone);
  }
  BufferId optimizer_state() const { return optimizer_state_; }
  /// ZeRO >= 1 cuts every parameter into equal pieces, the last one padded: replica i of those that share the shards
  /// owns piece i of each; experts have replicas of their own. Elements of `parameter` with that padding; without ZeRO
  /// just its elements.
  std::int64_t padded_elements(const Parameter& parameter) const;
  std::int64_t piece_elements(const Parameter& parameter) const {
    return padded_elements(parameter) / shards(parameter);
  }
  int shards(const Parameter& parameter) const { return parameter.expert ? plan_.expert_shards() : plan_.shards(); }
  int replicas(const Parameter& parameter) const {
    return parameter.expert ? plan_.expert_replicas() : plan_.replicas();
  }
  /// Elements that this rank updates: all, or its pieces.
  std::int64_t updated_elements() const;
  /// Elements of the gradient that outlives the backward pass: all, or its piece.
  std::int64_t held_gradient_elements(const Parameter& parameter) const;

  /// Formats: of the gradients that outlive the backward pass; of whole gradients that do not; of shards of weights.
  hw_models::DType held_gradient() const;
  hw_models::DType passing_gradient() const;
  hw_models::DType weight_shard() const;
  /// The optimizer has fp32 copies of the weights beside the weights that are held.
  bool keeps_master() const { return implementation_.keeps_master(weight_shard()); }

 private:
  /// Where a parameter stands and how it is split.
  struct Place {
    int sharded_axis = -1;
    bool expert = false;
    int layer = -1, chunk = 0;
    std::vector<std::int64_t> parts = {};  ///< TensorSlice::parts
    bool wide = false;                     ///< its products never take narrow operands
  };
  void add_experts(const ModelSpec& model, int layer, int chunk);
  void add_attention(const ModelSpec& model, int layer, int chunk);
  void add_latent_attention(const ModelSpec& model, int layer, int chunk);
  void tie_to_embedding(Parameter& table);
  Parameter& add(const std::string& name, const std::vector<std::int64_t>& shape, const Place& place);
  void add_buffers(Parameter& parameter, const TensorSlice& slice);
  Lifetime weight_lifetime(const Parameter& parameter) const;

  Role& role_;
  const Shapes& shapes_;
  const PlanSpec& plan_;
  const Implementation& implementation_;
  hw_models::OptimizerKind optimizer_;
  std::vector<Parameter> parameters_;
  std::map<std::string, std::size_t, std::less<>> index_;  ///< by name
  BufferId optimizer_state_;
};

/// Bytes of optimizer state per parameter: AdamW's momentum and variance and the master copy, fp32 each.
std::int64_t state_bytes(hw_models::OptimizerKind optimizer, bool master);

std::string layer_parameter(int layer, const char* part);  ///< "layers.3." + part

}  // namespace strategies
