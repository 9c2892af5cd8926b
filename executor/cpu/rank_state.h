// What the operations of one rank share while they run on the CPU backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "executor/communicator/communicator.h"
#include "executor/context_order.h"
#include "executor/corpus.h"
#include "executor/cpu/kernels.h"
#include "executor/rank_place.h"
#include "executor/run_settings.h"

namespace executor::cpu {

/// Ids of this rank's tokens of one microbatch: what it reads and what is to follow.
struct Batch {
  std::vector<std::int32_t> ids, targets;
};

/// One value per token between the operations of one microbatch's loss.
class LossRows {
 public:
  explicit LossRows(std::int64_t tokens) : values_(static_cast<std::size_t>(4 * tokens)), tokens_(tokens) {}
  CrossEntropyRows<float> view() { return {row(0), row(1), row(2), row(3)}; }

 private:
  float* row(std::int64_t i) { return values_.data() + i * tokens_; }
  std::vector<float> values_;
  std::int64_t tokens_;
};

/// Under ZeRO every parameter is cut into pieces, one per replica (strategies/transformer/parameters.h).
struct Pieces {
  int count = 1, own = 0;
  /// Elements [begin, end) of a parameter of `elements`; empty where the padding lies.
  struct Range {
    std::size_t begin = 0, end = 0;
    std::size_t size() const { return end - begin; }
  };
  std::size_t padded_size(std::size_t elements) const {  ///< of one piece
    return (elements + static_cast<std::size_t>(count) - 1) / static_cast<std::size_t>(count);
  }
  Range piece(std::size_t elements, int index) const;
  Range own_piece(std::size_t elements) const { return piece(elements, own); }
};

/// Tokens of this rank, from `token` of a microbatch on, that follow each other in a sequence from `position` on.
struct PositionRun {
  std::int64_t token = 0, position = 0, length = 0;
};

struct RankState {
  RankState(const strategies::Program& the_program, strategies::Rank rank, const RunSettings& the_settings,
            const Corpus& the_corpus, Communicator& the_communicator);

  const strategies::Program& program;
  const strategies::Role& role;
  RankPlace place;
  const RunSettings& settings;
  const Corpus& corpus;
  Communicator& communicator;
  const Kernels<float>& kernels;

  std::vector<std::optional<GroupHandle>> groups;  ///< by GroupId; none: this rank is in none, or alone
  Pieces pieces;
  std::map<int, LossRows> loss_rows;  ///< by microbatch, from the loss's forward to its backward
  ContextOrder order;

  double loss_sum = 0;  ///< of this step's tokens
  std::optional<double> gradient_norm;

  /// This rank's tokens of `microbatch`: of sample number (microbatch x replicas + replica) x sequences + i of the
  /// step.
  Batch batch(int step, int microbatch, std::int64_t tokens) const;
  /// At least `elements` elements; the next call may move them.
  std::span<float> scratch(std::size_t elements);
  /// Memory for collectives that gather what does not lie together; likewise.
  std::span<float> staging(std::size_t elements);
  /// Of tokens [first, first + count) of a microbatch.
  std::vector<PositionRun> position_runs(std::int64_t first, std::int64_t count) const;
  /// cosines and sines [own tokens of a sequence, head_dim / 2] of the rotation
  std::pair<const float*, const float*> rotation(std::int64_t head_dim);
  /// Whether this rank's gradient in `buffer` counts in the norm: every element of the model is counted by one rank of
  /// those that hold it.
  bool counts_in_norm(strategies::BufferId buffer) const { return counts_in_norm_[buffer.value] != 0; }
  /// Elements of a parameter's buffer of `size` that this rank updates: the whole of a piece, its piece of what is
  /// whole.
  Pieces::Range updated(strategies::BufferId buffer, std::size_t size) const {
    return role.buffers[buffer.value].slice.pieces > 1 ? Pieces::Range{0, size} : pieces.own_piece(size);
  }
  std::size_t workspace_bytes() const;

 private:
  std::vector<char> counts_in_norm_;  ///< by buffer
  std::vector<float> scratch_, staging_, cosines_, sines_;
};

}  // namespace executor::cpu
