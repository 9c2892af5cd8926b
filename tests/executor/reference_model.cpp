#include "tests/executor/reference_model.h"

#include <algorithm>

namespace executor {

template <class T>
ReferenceModel<T>::ReferenceModel(const strategies::ModelSpec& model, const cpu::Kernels<T>& kernels,
                                  const Initial& initial)
    : model_(model), k_(kernels) {
  const bool plain = !model.experts && !model.latent && model.extra_prediction_layers == 0 &&
                     model.norms_per_layer == 2 && !model.parallel_block && !model.embedding_norm &&
                     !model.query_key_norm && !model.query_key_norm_full && !model.attention_sinks &&
                     model.position != strategies::PositionKind::kAlibi;
  if (!plain) throw std::invalid_argument("the reference model has no experts and two norms a layer");
  const std::int64_t h = model.hidden;
  const std::int64_t norm_size = model.norm == hw_models::NormKind::kLayerNorm ? 2 * h : h;
  add("embedding.weight", model.vocabulary * h, initial);
  if (model.position == strategies::PositionKind::kLearned) add("embedding.position", model.max_positions * h, initial);
  for (int layer = 0; layer < model.layers; ++layer) add_layer(part(layer, ""), initial);
  add("final_norm", norm_size, initial);
  if (!model.tied_embeddings) add("head.weight", model.vocabulary * h, initial);
  if (model.head_bias) add("head.bias", model.vocabulary, initial);
}

template <class T>
void ReferenceModel<T>::add_layer(const std::string& name, const Initial& initial) {
  const std::int64_t h = model_.hidden, query = model_.heads * model_.head_dim;
  const std::int64_t qkv = attention().packed_columns(), up = model_.gated_mlp ? 2 * model_.ffn : model_.ffn;
  const std::int64_t norm_size = model_.norm == hw_models::NormKind::kLayerNorm ? 2 * h : h;
  add(name + "attention.norm", norm_size, initial);
  add(name + "attention.qkv.weight", qkv * h, initial);
  if (model_.qkv_bias) add(name + "attention.qkv.bias", qkv, initial);
  add(name + "attention.output.weight", h * query, initial);
  if (model_.attention_output_bias) add(name + "attention.output.bias", h, initial);
  add(name + "mlp.norm", norm_size, initial);
  add(name + "mlp.up.weight", up * h, initial);
  if (model_.mlp_bias) add(name + "mlp.up.bias", up, initial);
  add(name + "mlp.down.weight", h * model_.ffn, initial);
  if (model_.mlp_bias) add(name + "mlp.down.bias", h, initial);
}

template <class T>
void ReferenceModel<T>::add(const std::string& name, std::int64_t elements, const Initial& initial) {
  Parameter& parameter = parameters_[name];
  for (std::int64_t i = 0; i < elements; ++i) parameter.weight.push_back(static_cast<T>(initial(name, i)));
  parameter.gradient = parameter.momentum = parameter.variance = Values(parameter.weight.size());
}

template <class T>
double ReferenceModel<T>::loss_and_gradients(const std::vector<Sequence>& sequences) {
  for (auto& [name, parameter] : parameters_) std::fill(parameter.gradient.begin(), parameter.gradient.end(), T(0));
  double tokens = 0, sum = 0;
  for (const Sequence& sequence : sequences) tokens += static_cast<double>(sequence.size() - 1);
  for (const Sequence& sequence : sequences) {
    tokens_ = static_cast<std::int64_t>(sequence.size()) - 1;
    if (rotates()) {
      cosines_ = sines_ = zeros(model_.head_dim / 2);
      cpu::rotary_table(tokens_, model_.head_dim, cpu::kRotaryBase, cosines_.data(), sines_.data());
    }
    std::vector<Layer> layers(static_cast<std::size_t>(model_.layers));
    Values stream = embed(sequence), gradient;
    for (int i = 0; i < model_.layers; ++i) stream = forward(i, stream, layers[static_cast<std::size_t>(i)]);
    sum += loss(stream, sequence, 1 / tokens, gradient);
    for (int i = model_.layers - 1; i >= 0; --i) gradient = backward(i, layers[static_cast<std::size_t>(i)], gradient);
    embed_backward(sequence, gradient);
  }
  return sum / tokens;
}

template <class T>
auto ReferenceModel<T>::embed(const Sequence& ids) -> Values {
  Values x = zeros(model_.hidden);
  const cpu::EmbeddingShape shape{tokens_, model_.hidden, 0, model_.vocabulary};
  k_.embedding_forward(shape, ids.data(), parameters_.at("embedding.weight").weight.data(), x.data());
  if (has("embedding.position")) {
    const cpu::PositionShape position{tokens_, model_.hidden, tokens_, 0};
    k_.position_add(position, x.data(), parameters_.at("embedding.position").weight.data(), x.data());
  }
  return x;
}

template <class T>
void ReferenceModel<T>::embed_backward(const Sequence& ids, const Values& gradient) {
  const cpu::EmbeddingShape shape{tokens_, model_.hidden, 0, model_.vocabulary};
  k_.embedding_backward(shape, ids.data(), gradient.data(), parameters_.at("embedding.weight").gradient.data());
  if (has("embedding.position")) {
    const cpu::PositionShape position{tokens_, model_.hidden, tokens_, 0};
    k_.position_gradient(position, gradient.data(), parameters_.at("embedding.position").gradient.data());
  }
}

template <class T>
auto ReferenceModel<T>::norm(const std::string& name, const Values& x) -> Values {
  const Values& weight = parameters_.at(name).weight;
  const bool bias = model_.norm == hw_models::NormKind::kLayerNorm;
  Values y(x.size());
  k_.norm_forward(norm_shape(), x.data(), weight.data(), bias ? weight.data() + model_.hidden : nullptr, y.data());
  return y;
}

template <class T>
auto ReferenceModel<T>::norm_backward(const std::string& name, const Values& x, const Values& dy) -> Values {
  Parameter& p = parameters_.at(name);
  const bool bias = model_.norm == hw_models::NormKind::kLayerNorm;
  Values dx(x.size());
  k_.norm_backward(norm_shape(), x.data(), p.weight.data(), dy.data(), dx.data(), p.gradient.data(),
                   bias ? p.gradient.data() + model_.hidden : nullptr);
  return dx;
}

template <class T>
auto ReferenceModel<T>::linear(const std::string& weight, const Values& x, std::int64_t in, std::int64_t out)
    -> Values {
  Values y = zeros(out);
  k_.matmul({.m = tokens_, .n = out, .k = in, .transpose_b = true}, x.data(), parameters_.at(weight).weight.data(),
            y.data());
  return y;
}

template <class T>
auto ReferenceModel<T>::linear_backward(const std::string& weight, const std::string& bias, const Values& x,
                                        const Values& dy, std::int64_t in, std::int64_t out) -> Values {
  Parameter& w = parameters_.at(weight);
  Values dx = zeros(in);
  k_.matmul({.m = tokens_, .n = in, .k = out}, dy.data(), w.weight.data(), dx.data());
  k_.matmul({.m = out, .n = in, .k = tokens_, .transpose_a = true, .accumulate = true}, dy.data(), x.data(),
            w.gradient.data());
  if (has(bias)) k_.bias_gradient(tokens_, out, dy.data(), parameters_.at(bias).gradient.data());
  return dx;
}

template <class T>
auto ReferenceModel<T>::residual(const std::string& bias, const Values& x, const Values& stream) -> Values {
  Values sum(x.size());
  k_.residual_add(tokens_, model_.hidden, x.data(), has(bias) ? parameters_.at(bias).weight.data() : nullptr,
                  stream.data(), sum.data());
  return sum;
}

template <class T>
auto ReferenceModel<T>::forward(int layer, const Values& input, Layer& kept) -> Values {
  const cpu::AttentionShape shape = attention(layer);
  const std::int64_t h = model_.hidden, up = model_.gated_mlp ? 2 * model_.ffn : model_.ffn;
  const auto add_bias = [&](const std::string& bias, std::int64_t columns, Values& x) {
    if (has(bias)) k_.bias_add(tokens_, columns, parameters_.at(bias).weight.data(), x.data());
  };
  kept.input = input;
  kept.attention_normed = norm(part(layer, "attention.norm"), input);
  kept.qkv = linear(part(layer, "attention.qkv.weight"), kept.attention_normed, h, shape.packed_columns());
  add_bias(part(layer, "attention.qkv.bias"), shape.packed_columns(), kept.qkv);
  if (rotates()) k_.rotary_forward(rotary(), cosines_.data(), sines_.data(), kept.qkv.data());
  kept.probabilities.resize(static_cast<std::size_t>(shape.probabilities()));
  kept.context = zeros(shape.query_columns());
  k_.attention_forward(shape, kept.qkv.data(), kept.probabilities.data(), kept.context.data());
  kept.middle = residual(part(layer, "attention.output.bias"),
                         linear(part(layer, "attention.output.weight"), kept.context, shape.query_columns(), h), input);
  kept.mlp_normed = norm(part(layer, "mlp.norm"), kept.middle);
  kept.up = linear(part(layer, "mlp.up.weight"), kept.mlp_normed, h, up);
  add_bias(part(layer, "mlp.up.bias"), up, kept.up);
  kept.activated = zeros(model_.ffn);
  k_.activation_forward(activation(), kept.up.data(), kept.activated.data());
  return residual(part(layer, "mlp.down.bias"), linear(part(layer, "mlp.down.weight"), kept.activated, model_.ffn, h),
                  kept.middle);
}

template <class T>
double ReferenceModel<T>::loss(const Values& stream, const Sequence& ids, double weight, Values& stream_gradient) {
  const std::int64_t vocabulary = model_.vocabulary, h = model_.hidden;
  const Values normed = norm("final_norm", stream);
  Values logits = linear(head(), normed, h, vocabulary), memory = zeros(4);
  if (has("head.bias")) k_.bias_add(tokens_, vocabulary, parameters_.at("head.bias").weight.data(), logits.data());
  const cpu::CrossEntropyShape shape{tokens_, vocabulary, 0, vocabulary};
  const cpu::CrossEntropyRows<T> rows{memory.data(), memory.data() + tokens_, memory.data() + 2 * tokens_,
                                      memory.data() + 3 * tokens_};
  k_.cross_entropy_forward(shape, logits.data(), ids.data() + 1, logits.data(), rows);
  const double sum = k_.cross_entropy_loss(shape, rows);
  k_.cross_entropy_backward(shape, logits.data(), ids.data() + 1, rows, weight, logits.data());
  stream_gradient =
      norm_backward("final_norm", stream, linear_backward(head(), "head.bias", normed, logits, h, vocabulary));
  return sum;
}

template <class T>
auto ReferenceModel<T>::backward(int layer, const Layer& kept, const Values& gradient) -> Values {
  const cpu::AttentionShape shape = attention(layer);
  const std::int64_t h = model_.hidden, up = model_.gated_mlp ? 2 * model_.ffn : model_.ffn;
  const Values d_activated = linear_backward(part(layer, "mlp.down.weight"), part(layer, "mlp.down.bias"),
                                             kept.activated, gradient, model_.ffn, h);
  Values d_up = zeros(up);
  k_.activation_backward(activation(), kept.up.data(), d_activated.data(), d_up.data());
  const Values d_mlp =
      linear_backward(part(layer, "mlp.up.weight"), part(layer, "mlp.up.bias"), kept.mlp_normed, d_up, h, up);
  Values middle = norm_backward(part(layer, "mlp.norm"), kept.middle, d_mlp);
  k_.add(tokens_ * h, middle.data(), gradient.data(), middle.data());

  const Values d_context = linear_backward(part(layer, "attention.output.weight"), part(layer, "attention.output.bias"),
                                           kept.context, middle, shape.query_columns(), h);
  Values d_qkv = zeros(shape.packed_columns());
  Values workspace(static_cast<std::size_t>(cpu::attention_workspace(shape)));
  k_.attention_backward(shape, kept.qkv.data(), kept.probabilities.data(), kept.context.data(), d_context.data(),
                        d_qkv.data(), workspace.data());
  if (rotates()) k_.rotary_backward(rotary(), cosines_.data(), sines_.data(), d_qkv.data());
  const Values d_attention = linear_backward(part(layer, "attention.qkv.weight"), part(layer, "attention.qkv.bias"),
                                             kept.attention_normed, d_qkv, h, shape.packed_columns());
  Values input = norm_backward(part(layer, "attention.norm"), kept.input, d_attention);
  k_.add(tokens_ * h, input.data(), middle.data(), input.data());
  return input;
}

template <class T>
double ReferenceModel<T>::gradient_norm() const {
  double squares = 0;
  for (const auto& [name, parameter] : parameters_) {
    squares += k_.squared_norm(static_cast<std::int64_t>(parameter.gradient.size()), parameter.gradient.data());
  }
  return std::sqrt(squares);
}

template <class T>
void ReferenceModel<T>::clip(double largest) {
  const double norm = gradient_norm();
  if (norm <= largest) return;
  for (auto& [name, parameter] : parameters_) {
    k_.scale(static_cast<std::int64_t>(parameter.gradient.size()), static_cast<T>(largest / norm),
             parameter.gradient.data());
  }
}

template <class T>
void ReferenceModel<T>::update_adamw(cpu::AdamWShape settings) {
  settings.step = ++step_;
  for (auto& [name, p] : parameters_) {
    settings.elements = static_cast<std::int64_t>(p.weight.size());
    k_.adamw(settings, p.gradient.data(), p.momentum.data(), p.variance.data(), p.weight.data());
  }
}

template <class T>
void ReferenceModel<T>::update_sgd(double learning_rate, double weight_decay) {
  for (auto& [name, p] : parameters_) {
    k_.sgd(static_cast<std::int64_t>(p.weight.size()), learning_rate, weight_decay, p.gradient.data(), p.weight.data());
  }
}

template class ReferenceModel<float>;
template class ReferenceModel<double>;

}  // namespace executor
