// A whole decoder-only transformer trained by one process, sequence after sequence, every operation in its plainest
// place: what every plan, executed by any number of ranks, has to give. With cpu::reference::kernels<double>() it is
// the oracle of the executor's tests; with any other table it tests the kernels together.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "executor/cpu/kernels.h"
#include "strategies/model.h"

namespace executor {

/// T = float or double. Parameters have the names, shapes and order of elements of the Program of one rank: weights
/// [out, in]; queries, keys, values (and gate, value) one after the other; LayerNorm's gain, then its bias.
template <class T>
class ReferenceModel {
 public:
  struct Parameter {
    std::vector<T> weight, gradient, momentum, variance;
  };
  using Parameters = std::map<std::string, Parameter>;
  using Initial = std::function<double(const std::string& parameter, std::int64_t index)>;
  using Sequence = std::vector<std::int32_t>;

  /// Throws std::invalid_argument for what the CPU backend does not train either.
  ReferenceModel(const strategies::ModelSpec& model, const cpu::Kernels<T>& kernels, const Initial& initial);

  /// Mean loss over all tokens of `sequences`, n + 1 tokens each: token i predicts token i + 1. Gradients are replaced.
  double loss_and_gradients(const std::vector<Sequence>& sequences);
  double gradient_norm() const;
  /// All gradients times min(1, largest / norm).
  void clip(double largest);
  /// Like `settings`, whose elements and step are set here. Decay applies to all parameters.
  void update_adamw(cpu::AdamWShape settings);
  void update_sgd(double learning_rate, double weight_decay);

  Parameters& parameters() { return parameters_; }

 private:
  using Values = std::vector<T>;
  /// What the backward pass of one layer reads.
  struct Layer {
    Values input, attention_normed, qkv, probabilities, context, middle, mlp_normed, up, activated;
  };

  void add(const std::string& name, std::int64_t elements, const Initial& initial);
  void add_layer(const std::string& name, const Initial& initial);
  static std::string part(int layer, const char* name) { return "layers." + std::to_string(layer) + "." + name; }
  const char* head() const { return model_.tied_embeddings ? "embedding.weight" : "head.weight"; }
  bool has(const std::string& name) const { return parameters_.contains(name); }
  Values zeros(std::int64_t columns) const { return Values(static_cast<std::size_t>(tokens_ * columns)); }

  Values embed(const Sequence& ids);
  Values forward(int layer, const Values& input, Layer& kept);
  double loss(const Values& stream, const Sequence& ids, double weight, Values& stream_gradient);
  Values backward(int layer, const Layer& kept, const Values& gradient);
  void embed_backward(const Sequence& ids, const Values& gradient);

  Values norm(const std::string& name, const Values& x);
  Values norm_backward(const std::string& name, const Values& x, const Values& dy);
  /// x[tokens, in] W^T
  Values linear(const std::string& weight, const Values& x, std::int64_t in, std::int64_t out);
  Values linear_backward(const std::string& weight, const std::string& bias, const Values& x, const Values& dy,
                         std::int64_t in, std::int64_t out);
  Values residual(const std::string& bias, const Values& x, const Values& stream);
  cpu::AttentionShape attention(int layer = 0) const {
    return {.batch = 1,
            .sequence = tokens_,
            .heads = model_.heads,
            .kv_heads = model_.kv_heads,
            .head_dim = model_.head_dim,
            .window = strategies::window_of(model_, layer, tokens_)};
  }
  cpu::RotaryShape rotary() const {
    return {.rows = tokens_,
            .sequence = tokens_,
            .heads = model_.heads + model_.kv_heads,
            .head_dim = model_.head_dim,
            .stride = attention().packed_columns()};
  }
  cpu::ActivationShape activation() const {
    return {.rows = tokens_, .columns = model_.ffn, .activation = model_.activation, .gated = model_.gated_mlp};
  }
  cpu::NormShape norm_shape() const { return {.rows = tokens_, .columns = model_.hidden, .kind = model_.norm}; }
  bool rotates() const { return model_.position == strategies::PositionKind::kRotary; }

  strategies::ModelSpec model_;
  cpu::Kernels<T> k_;
  Parameters parameters_;
  std::int64_t tokens_ = 0;  ///< of the sequence at hand
  std::int64_t step_ = 0;
  Values cosines_, sines_;
};

extern template class ReferenceModel<float>;
extern template class ReferenceModel<double>;

}  // namespace executor
