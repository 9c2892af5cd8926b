#include "strategies/transformer/latent_attention.h"

#include <optional>

#include "strategies/transformer/layer_parts.h"
#include "strategies/transformer/narrow_operands.h"

namespace strategies {
namespace {

using hw_models::Elementwise;
using hw_models::ElementwiseKind;

/// What both passes need to know of a layer.
class LatentLayer {
 public:
  LatentLayer(BlockWriter& writer, const Stage& stage, int layer) : w_(writer), stage_(stage), layer_(layer) {}

 protected:
  bool compressed() const { return latent_.query_rank > 0; }
  std::int64_t kv_up() const { return s_.heads * (latent_.nope_dim + latent_.value_dim); }
  std::int64_t rotated() const { return s_.heads * latent_.rope_dim; }
  const Parameter& parameter(const std::string& part) const {
    return stage_.parameters.find(layer_parameter(layer_, part.c_str()));
  }
  std::int64_t own_bytes(std::int64_t columns) const { return s_.tokens_between * columns * s_.activation_bytes; }
  std::int64_t bytes(std::int64_t columns) const { return s_.tokens * columns * s_.activation_bytes; }
  hw_models::Norm norm_kernel(std::int64_t columns, bool backward) const {
    return {s_.tokens_between, columns, hw_models::NormKind::kRmsNorm, backward, s_.activation};
  }

  /// Rotates the queries' and the keys' rotary parts and moves keys and values between the up-projection's columns and
  /// those of attention. Queries are rotated in place by a fused kernel, else rotated apart and put together again.
  Elementwise rotation(bool backward, bool queries_move) const {
    const std::int64_t packed = s_.heads * (s_.head_dim + s_.value_dim), up = kv_up() + latent_.rope_dim;
    const bool in_place = stage_.implementation.fused_elementwise && !queries_move;
    const std::int64_t queries = in_place ? rotated() : queries_move ? s_.query : rotated() + s_.query;
    Elementwise kernel{ElementwiseKind::kRotary, s_.tokens * (s_.query + packed),
                       bytes(queries + (backward ? packed : up)), bytes(queries + (backward ? up : packed)), backward};
    kernel.columns = s_.qkv;
    kernel.head_dim = latent_.rope_dim;
    return kernel;
  }

  BlockWriter& w_;
  const Stage& stage_;
  int layer_;
  const Shapes& s_ = stage_.shapes;
  const LayerBuffers& b_ = stage_.layers.at(layer_);
  const LatentBuffers& latents_ = *b_.latent;
  const LatentAttention& latent_ = *stage_.model.latent;
  bool narrow_ = s_.narrows(layer_);
};

class LatentForward : public LatentLayer {
 public:
  using LatentLayer::LatentLayer;

  void run(bool keep) {
    const Operand x = normed("attention.norm", b_.input, s_.hidden, b_.attention_normed, "attention-norm",
                             stage_.model.norm, !compressed());
    if (compressed())
      product("attention.query_down.weight", "query-down", *x.fresh, x.columns, latent_.query_rank, latents_.query,
              s_.tokens_between);
    const std::int64_t kv_columns = latent_.kv_rank + latent_.rope_dim;
    product("attention.kv_down.weight", "kv-down", *x.fresh, x.columns, kv_columns, latents_.kv, s_.tokens_between);
    if (compressed() && *x.fresh != x.kept) w_.free(*x.fresh);
    const auto rms = hw_models::NormKind::kRmsNorm;
    const Operand query = compressed() ? normed("attention.query_norm", latents_.query, latent_.query_rank,
                                                latents_.query_normed, "query-up", rms, true)
                                       : x;
    const Operand kv =
        normed("attention.kv_norm", latents_.kv, latent_.kv_rank, latents_.kv_normed, "kv-up", rms, true);
    up(query, kv);
    if (keep) return;
    if (compressed()) {
      w_.free(latents_.query);
      w_.free(latents_.query_normed);
    }
    for (const BufferId buffer : {b_.attention_normed, latents_.kv, latents_.kv_normed}) w_.free(buffer);
  }

  void recompute() {
    const Operand query =
        compressed() ? Operand{latents_.query_normed, latent_.query_rank} : Operand{b_.attention_normed, s_.hidden};
    up(query, {latents_.kv_normed, latent_.kv_rank});
  }

 private:
  /// Input of a product, the rank's own rows: `kept`, and while its norm has just been written, `fresh` as products
  /// take it.
  struct Operand {
    BufferId kept;
    std::int64_t columns = 1;
    std::optional<BufferId> fresh = std::nullopt;
  };

  Operand normed(const char* part, BufferId input, std::int64_t columns, BufferId kept, const char* label,
                 hw_models::NormKind kind, bool gathered) {
    const auto write_norm = [&](BufferId to) {
      hw_models::Norm kernel = norm_kernel(columns, false);
      kernel.kind = kind;
      w_.compute(kernel, part, {input, parameter(part).weight}, {to});
    };
    if (narrow_) return {kept, columns, write_narrow_norm(w_, stage_, label, columns, kept, write_norm, gathered)};
    write_norm(kept);
    return {kept, columns, kept};
  }

  Moved gather(const Operand& x, const char* label) {
    if (!narrow_) {
      const bool stream = x.columns == s_.hidden;
      return gather_rows(w_, stage_, x.kept, x.columns, stream ? stage_.column_gathers : std::nullopt);
    }
    if (x.fresh) return gather_narrow_norm(w_, stage_, *x.fresh, x.columns, x.kept);
    return gather_kept_input(w_, stage_, label, x.kept, x.columns);
  }

  void product(const char* part, const char* label, BufferId input, std::int64_t in, std::int64_t out, BufferId output,
               std::int64_t rows) {
    const Parameter& weight = parameter(part);
    const std::optional<BufferId> narrow = write_narrow_weight(w_, stage_, label, weight);
    const hw_models::Matmul kernel{
        .m = rows, .n = out, .k = in, .dtype = s_.operands(layer_), .output = s_.activation, .transpose_b = true};
    w_.compute(kernel, label, {input, narrow.value_or(weight.weight)}, {output});
    if (narrow) w_.free(*narrow);
  }

  void gathered_product(const Operand& x, const char* part, const char* label, std::int64_t out, BufferId output) {
    const Moved gathered = gather(x, label);
    gathered.await(w_);
    product(part, label, gathered.buffer, x.columns, out, output, s_.tokens);
    free_gathered(w_, gathered.buffer, x.kept);
  }

  void up(const Operand& query, const Operand& kv) {
    const char* const query_part = compressed() ? "attention.query_up.weight" : "attention.query.weight";
    gathered_product(query, query_part, compressed() ? "query-up" : "query", s_.query, b_.qkv);
    const BufferId keys_and_values = w_.temporary("keys-values", bytes(kv_up()));
    gathered_product(kv, "attention.kv_up.weight", "kv-up", kv_up(), keys_and_values);
    Moved positions{latents_.kv, std::nullopt};
    if (latent_.rope_dim > 0) positions = gather_rows(w_, stage_, latents_.kv, latent_.rope_dim);
    positions.await(w_);
    w_.compute(rotation(false, false), "latent-rotary", {b_.qkv, keys_and_values, positions.buffer}, {b_.qkv});
    w_.free(keys_and_values);
    free_gathered(w_, positions.buffer, latents_.kv);
  }
};

class LatentBackward : public LatentLayer {
 public:
  LatentBackward(BlockWriter& writer, const Stage& stage, int layer, GradientBuckets& buckets)
      : LatentLayer(writer, stage, layer), buckets_(buckets) {}

  BufferId run(BufferId packed) {
    const bool apart = buckets_.defers();  // the queries' gradient outlives the others
    const BufferId query = apart ? operand("gradient-query", bytes(s_.query)) : packed;
    const BufferId kv = operand("gradient-keys-values", bytes(kv_up()));
    const BufferId positions = w_.temporary("gradient-positions", bytes(latent_.rope_dim));
    BlockWriter::Buffers written{kv, positions};
    if (apart) written.push_back(query);
    w_.compute(rotation(true, apart), "latent-rotary-backward", {packed}, std::move(written));
    if (apart) w_.free(packed);
    return compressed() ? from_latents(query, kv, positions) : from_stream(query, kv, positions);
  }

 private:
  BufferId from_latents(BufferId query, BufferId kv, BufferId positions) {
    const BufferId normed =
        column("attention.query_up", "query-up", query, latents_.query_normed, latent_.query_rank, s_.query);
    const BufferId latent = operand("gradient-query-latent", own_bytes(latent_.query_rank));
    norm("attention.query_norm", latents_.query, normed, latent_.query_rank, latent);
    const BufferId sum = down("attention.query_down", "query-down", latent, latent_.query_rank);
    return add(sum, keys_and_values(kv, positions));
  }
  BufferId from_stream(BufferId query, BufferId kv, BufferId positions) {
    const BufferId sum = keys_and_values(kv, positions);
    return add(sum, column("attention.query", "query", query, b_.attention_normed, s_.hidden, s_.query));
  }

  /// The last reader of the normed stream with compressed queries.
  BufferId keys_and_values(BufferId kv, BufferId positions) {
    const std::int64_t columns = latent_.kv_rank + latent_.rope_dim;
    const BufferId normed = column("attention.kv_up", "kv-up", kv, latents_.kv_normed, latent_.kv_rank, kv_up());
    const BufferId latent = w_.temporary("gradient-kv-latent", own_bytes(latent_.kv_rank));
    norm("attention.kv_norm", latents_.kv, normed, latent_.kv_rank, latent);
    Moved summed{positions, std::nullopt};
    if (latent_.rope_dim > 0) summed = reduce_rows(w_, stage_, positions, latent_.rope_dim);
    summed.await(w_);
    const BufferId joined = operand("gradient-kv-joined", own_bytes(columns));
    w_.compute(
        Elementwise{ElementwiseKind::kCopy, s_.tokens_between * columns, own_bytes(columns), own_bytes(columns), true},
        "join-latent-gradients", {latent, summed.buffer}, {joined});
    w_.free(latent);
    w_.free(summed.buffer);
    const BufferId stream = down("attention.kv_down", "kv-down", joined, columns);
    if (compressed()) buckets_.release(b_.attention_normed);
    return stream;
  }

  BufferId operand(const char* name, std::int64_t size) { return gradient_operand(w_, buckets_, name, size); }

  BufferId narrowed(const char* label, BufferId dy, std::int64_t elements) {
    return narrow_ ? write_narrow_gradient(w_, stage_, buckets_, label, dy, elements) : dy;
  }

  BufferId column(const std::string& part, const char* label, BufferId dy, BufferId x, std::int64_t in,
                  std::int64_t out) {
    const BufferId gradient = narrowed(label, dy, s_.tokens * out);
    return write_column_backward(w_, stage_, parameter(part + ".weight"),
                                 {label, gradient, x, in, out, s_.operands(layer_), stage_.gathers_sequence()},
                                 buckets_);
  }

  /// Own rows only: nothing travels.
  BufferId down(const std::string& part, const char* label, BufferId latent, std::int64_t columns) {
    const Parameter& weight = parameter(part + ".weight");
    const BufferId gradient = narrowed(label, latent, s_.tokens_between * columns);
    const BufferId stream = w_.temporary("gradient-normed", s_.stream_bytes());
    write_input_gradient(w_, stage_, weight, label, gradient, s_.hidden, columns, stream, s_.operands(layer_), true);
    const WeightProduct product{.label = label,
                                .dy = gradient,
                                .x = b_.attention_normed,
                                .in = s_.hidden,
                                .out = columns,
                                .dtype = s_.operands(layer_),
                                .own_rows = true};
    buckets_.defers() ? buckets_.defer(weight, product) : write_weight_product(w_, stage_, weight, product);
    buckets_.release(gradient);
    buckets_.ready(weight);
    return stream;
  }

  void norm(const char* part, BufferId latent, BufferId normed_gradient, std::int64_t columns, BufferId gradient) {
    const Parameter& gain = parameter(part);
    w_.compute(norm_kernel(columns, true), std::string(part) + "-backward", {latent, normed_gradient, gain.weight},
               {gradient, gain.gradient});
    w_.free(normed_gradient);
    w_.free(latent);
    buckets_.ready(gain);
  }

  /// Automatic differentiation adds what two branches leave in a pass of its own.
  BufferId add(BufferId sum, BufferId more) {
    write_stream_sum(w_, stage_, "latent-gradient-sum", sum, more);
    w_.free(more);
    return sum;
  }

  GradientBuckets& buckets_;
};

}  // namespace

void write_latent_forward(BlockWriter& writer, const Stage& stage, int layer, bool keep) {
  LatentForward(writer, stage, layer).run(keep);
}

void write_latent_recompute(BlockWriter& writer, const Stage& stage, int layer) {
  writer.at(layer, Phase::kRecompute);
  LatentForward(writer, stage, layer).recompute();
  writer.at(layer, Phase::kBackward);
}

BufferId write_latent_backward(BlockWriter& writer, const Stage& stage, int layer, BufferId packed_gradient,
                               GradientBuckets& buckets) {
  return LatentBackward(writer, stage, layer, buckets).run(packed_gradient);
}

}  // namespace strategies
