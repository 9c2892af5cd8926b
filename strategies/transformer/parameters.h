// The parameters of one pipeline stage and the static buffers that hold them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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
  bool tensor_replicated = false;  ///< every tensor rank holds all of it (norms)
  bool tied_copy = false;          ///< the last stage's copy of a tied embedding
  BufferId weight, gradient;
};

/// Parameters in order of forward use.
class StageParameters {
 public:
  StageParameters(Role& role, const Shapes& shapes, const PlanSpec& plan, const Implementation& implementation,
                  hw_models::OptimizerKind optimizer)
      : role_(role), shapes_(shapes), plan_(plan), implementation_(implementation), optimizer_(optimizer) {}

  void add_embedding(const ModelSpec& model);
  void add_layer(const ModelSpec& model, int layer, int chunk);
  /// Final norm and output table. `tied_copy`: the table is the embedding's copy on another stage; `shared`: it is
  /// the embedding of this very stage and adds nothing.
  void add_head(const ModelSpec& model, int chunk, bool tied_copy, bool shared);
  /// One optimizer buffer per chunk-independent stage: fp32 master, and for AdamW momentum and variance; padded shard
  /// under ZeRO >= 1. Each of them holds the parameters in their order.
  void add_optimizer_state();

  const Parameter& find(const std::string& name) const;  ///< aborts on an unknown name
  bool contains(const std::string& name) const;
  const std::vector<Parameter>& all() const { return parameters_; }
  std::int64_t elements() const;
  BufferId optimizer_state() const { return optimizer_state_; }
  /// ZeRO >= 1 cuts every parameter into equal pieces, the last one padded: replica i of data x context owns piece i of
  /// each. Elements of `parameter` with that padding; without ZeRO just its elements.
  std::int64_t padded_elements(const Parameter& parameter) const;
  /// Elements that this rank updates: all, or its pieces.
  std::int64_t updated_elements() const;

 private:
  /// Where a parameter stands and how it is split.
  struct Place {
    int sharded_axis = -1;
    int layer = -1, chunk = 0;
    std::vector<std::int64_t> parts = {};  ///< TensorSlice::parts
  };
  Parameter& add(const std::string& name, const std::vector<std::int64_t>& shape, const Place& place);
  std::int64_t shards() const { return plan_.zero >= 1 ? plan_.replicas() : 1; }

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
