// Ring exchange, as Transformer Engine's p2p form runs it (transformer_engine/pytorch/attention, context_parallel.py):
//
//   forward    step i meets the keys and values of the rank i places before; the shifts run ahead of the kernels, each
//              into a buffer of its own; the partial outputs are put together by their log-sum-exps at the end
//   backward   the other way round, from the keys and values that came last to the rank's own; behind them travel their
//              gradients, to which every rank adds its part. Two buffers take turns, each for keys, values and
//              gradients:
//
//     lane context   K,V 1   |  K,V 2 and dK,dV 0  |  ...  |  dK,dV c-2
//     lane compute   step 0  |  step 1, sum        |  ...  |  step c-1, sum
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "strategies/transformer/context_attention.h"
#include "strategies/transformer/context_tiles.h"

namespace strategies {
namespace {

using hw_models::Elementwise;
using hw_models::ElementwiseKind;

constexpr std::int64_t kLogSumExpBytes = 4;  // fp32, one a row and head

/// By how many places before this rank the keys' own rank stands.
std::string ring_label(std::size_t distance) { return "attention-ring-" + std::to_string(distance); }

class RingForward {
 public:
  RingForward(BlockWriter& writer, const Stage& stage, const LayerBuffers& buffers)
      : w_(writer), stage_(stage), s_(stage.shapes), b_(buffers) {}

  void run(AttentionPass pass) {
    shift();
    meet();
    sum(pass);
    for (const std::vector<BufferId>& group : {keys_, partial_}) {
      for (const BufferId buffer : group) w_.free(buffer);
    }
  }

 private:
  void shift() {
    const std::int64_t bytes = keys_and_values_bytes(s_);
    for (int step = 1; step < stage_.plan.context; ++step) {
      const BufferId from = step == 1 ? b_.qkv : keys_.back();
      const BufferId to = w_.temporary("keys-values", bytes);
      arrivals_.push_back(
          write_context_exchange(w_, stage_, CollectiveKind::kShiftNext, bytes, "shift-keys-values", from, to));
      keys_.push_back(to);
    }
  }

  void meet() {
    const std::int64_t bytes = s_.tokens * (s_.attended * s_.activation_bytes + s_.heads * kLogSumExpBytes);
    const auto tiles = ring_tiles(stage_, false);
    for (std::size_t step = 0; step < tiles.size(); ++step) {
      if (step > 0) w_.wait_for(arrivals_[step - 1]);
      if (!tiles[step]) continue;
      BlockWriter::Buffers reads{b_.qkv};
      if (step > 0) reads.push_back(keys_[step - 1]);
      partial_.push_back(w_.temporary("attention-partial", bytes));
      w_.compute(*tiles[step], ring_label(step), std::move(reads), {partial_.back()});
    }
  }

  /// Every part is read, rescaled and added. The keys and values that came last change places with the rank's own
  /// where the backward pass follows; nothing is copied for that.
  void sum(AttentionPass pass) {
    const auto parts = static_cast<std::int64_t>(partial_.size());
    const std::int64_t elements = s_.tokens * s_.attended, bytes = elements * s_.activation_bytes;
    BlockWriter::Buffers reads = partial_, writes{b_.context, b_.softmax};
    if (pass.output_there) reads.push_back(b_.context);
    if (pass.keeps) {
      reads.insert(reads.end(), {keys_.back(), b_.qkv});
      writes.push_back(b_.qkv);
    }
    w_.compute(Elementwise{ElementwiseKind::kAdd, elements, (2 * parts - 1) * bytes, parts * bytes, false, s_.attended},
               "attention-sum", std::move(reads), std::move(writes));
  }

  BlockWriter& w_;
  const Stage& stage_;
  const Shapes& s_;
  const LayerBuffers& b_;
  std::vector<BufferId> keys_, partial_;
  std::vector<OperationId> arrivals_;
};

class RingBackward {
 public:
  RingBackward(BlockWriter& writer, const Stage& stage, const LayerBuffers& buffers, BufferId output_gradient,
               BufferId packed_gradient)
      : w_(writer),
        stage_(stage),
        s_(stage.shapes),
        b_(buffers),
        output_gradient_(output_gradient),
        packed_gradient_(packed_gradient) {}

  void run() {
    const std::int64_t bytes = 2 * keys_and_values_bytes(s_);
    for (BufferId& buffer : travelling_) buffer = w_.temporary("keys-values-gradients", bytes);
    const auto tiles = ring_tiles(stage_, true);
    for (std::size_t step = 0; step < tiles.size(); ++step) {
      const OperationId moved = shift(step, step + 1 == tiles.size());
      const auto& tile = tiles[tiles.size() - 1 - step];
      if (tile) meet(step, *tile, tiles.size() - 1 - step);
      w_.wait_for(moved);
      if (tile && step > 0) add(step, step + 1 == tiles.size());
    }
    for (const BufferId buffer : travelling_) w_.free(buffer);
  }

 private:
  BufferId travelling(std::size_t step) const { return travelling_[step % 2]; }
  BufferId keys(std::size_t step) const { return step == 0 ? b_.qkv : travelling(step - 1); }

  /// Keys and values go on after all steps but the last, gradients before all but the first.
  OperationId shift(std::size_t step, bool last) {
    const std::int64_t bytes = keys_and_values_bytes(s_);
    const bool both = step > 0 && !last;
    const char* const label = both        ? "shift-keys-values-gradients"
                              : step == 0 ? "shift-keys-values"
                                          : "shift-gradients";
    return write_context_exchange(w_, stage_, CollectiveKind::kShiftPrevious, both ? 2 * bytes : bytes, label,
                                  keys(step), travelling(step));
  }

  void meet(std::size_t step, const hw_models::Attention& tile, std::size_t distance) {
    BlockWriter::Buffers reads{b_.qkv, b_.context, b_.softmax, output_gradient_}, writes;
    if (step > 0) {
      reads.push_back(keys(step));
      partial_ = w_.temporary("gradient-partial", s_.tokens * s_.qkv * s_.activation_bytes);
      writes = {partial_};
    } else {
      writes = {packed_gradient_, travelling(step)};
      begun_ = true;
    }
    w_.compute(tile, ring_label(distance) + "-backward", std::move(reads), std::move(writes));
  }

  /// Gradients of queries stay here; those of keys and values travel on until they are back at their own rank. Not
  /// balanced, no rank before the last one has met the keys that come to it: it has nothing to add to.
  void add(std::size_t step, bool last) {
    const std::int64_t elements = s_.tokens * s_.qkv, bytes = elements * s_.activation_bytes;
    const bool first = !stage_.implementation.balanced_context && stage_.context_rank + 1 == stage_.plan.context;
    BlockWriter::Buffers reads{partial_}, writes{packed_gradient_};
    if (!first) reads.push_back(travelling(step));
    if (begun_) reads.push_back(packed_gradient_);
    if (!last) writes.push_back(travelling(step));
    w_.compute(Elementwise{ElementwiseKind::kAdd, elements, 2 * bytes, bytes, true}, "attention-gradient-sum",
               std::move(reads), std::move(writes));
    w_.free(partial_);
    begun_ = true;
  }

  BlockWriter& w_;
  const Stage& stage_;
  const Shapes& s_;
  const LayerBuffers& b_;
  BufferId output_gradient_, packed_gradient_;
  std::array<BufferId, 2> travelling_;
  BufferId partial_;
  bool begun_ = false;  ///< there is a gradient to add to
};

}  // namespace

void write_ring_attention(BlockWriter& writer, const Stage& stage, const LayerBuffers& buffers, AttentionPass pass) {
  RingForward(writer, stage, buffers).run(pass);
}

void write_ring_attention_backward(BlockWriter& writer, const Stage& stage, const LayerBuffers& buffers,
                                   BufferId output_gradient, BufferId packed_gradient) {
  RingBackward(writer, stage, buffers, output_gradient, packed_gradient).run();
}

}  // namespace strategies
