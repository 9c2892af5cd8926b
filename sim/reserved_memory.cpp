#include "sim/reserved_memory.h"

#include <deque>
#include <optional>
#include <vector>

#include "sim/caching_allocator.h"
#include "sim/memory_changes.h"

namespace sim {
namespace {

using strategies::Lifetime;

class ReservedReplay {
 public:
  ReservedReplay(const strategies::Role& role, int microbatches, hw_models::Bytes limit, bool defers_frees)
      : role_(role),
        instances_(static_cast<std::size_t>(microbatches) + 1),
        defers_frees_(defers_frees),
        pieces_(role.buffers.size() * instances_),
        allocator_(limit) {
    for (const strategies::Action& action : role.schedule) {
      if (action.microbatch < microbatches) actions_.push_back(action);
    }
    for (const strategies::Block& block : role.blocks) changes_.push_back(memory_changes(role, block));
    for (const strategies::Buffer& buffer : role.buffers) {
      if (buffer.lifetime == Lifetime::kStatic && buffer.size.value() > 0) allocator_.allocate(buffer.size);
    }
  }

  void step() {
    for (std::size_t a = 0; a < actions_.size(); ++a) {
      if (!is_forward(a)) {
        while (!deferred_.empty()) release_oldest();
      } else {
        const bool last_in_a_row = a + 1 == actions_.size() || !is_forward(a + 1);
        if (last_in_a_row && !deferred_.empty()) release_oldest();
        deferred_.emplace_back();
      }
      for (const MemoryChange& change : changes_[actions_[a].block])
        apply(change, actions_[a].microbatch, is_forward(a));
    }
  }

  hw_models::Bytes most_reserved() const { return allocator_.most_reserved(); }

 private:
  using Piece = CachingAllocator::Handle;

  bool is_forward(std::size_t action) const {
    return role_.blocks[actions_[action].block].kind == strategies::BlockKind::kForward;
  }

  void release_oldest() {
    for (const Piece& piece : deferred_.front()) allocator_.free(piece);
    deferred_.pop_front();
  }

  void apply(const MemoryChange& change, int microbatch, bool forward) {
    const strategies::Buffer& buffer = role_.buffers[change.buffer.value];
    const bool per_microbatch = buffer.lifetime == Lifetime::kMicrobatch;
    const std::size_t instance = per_microbatch ? static_cast<std::size_t>(microbatch + 1) : 0;
    std::optional<Piece>& piece = pieces_[change.buffer.value * instances_ + instance];
    if (piece.has_value() == change.alive) return;
    if (change.alive) {
      piece = allocator_.allocate(buffer.size);
      return;
    }
    if (defers_frees_ && forward && change.by_collective) {
      deferred_.back().push_back(*piece);
    } else {
      allocator_.free(*piece);
    }
    piece.reset();
  }

  const strategies::Role& role_;
  std::size_t instances_;
  bool defers_frees_;
  std::vector<strategies::Action> actions_;
  std::deque<std::vector<Piece>> deferred_;         ///< by forward block, oldest first
  std::vector<std::vector<MemoryChange>> changes_;  ///< by block
  std::vector<std::optional<Piece>> pieces_;        ///< by buffer and instance; microbatch -1 has instance 0
  CachingAllocator allocator_;
};

}  // namespace

hw_models::Bytes reserved_memory(const strategies::Role& role, int most_microbatches, hw_models::Bytes limit,
                                 bool defers_frees) {
  constexpr int kMoreToRepeat = 2;
  ReservedReplay replay(role, most_microbatches + kMoreToRepeat, limit, defers_frees);
  replay.step();
  replay.step();
  return replay.most_reserved();
}

}  // namespace sim
