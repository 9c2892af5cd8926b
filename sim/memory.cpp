#include "sim/memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sim/memory_changes.h"

namespace sim {
namespace {

using strategies::Buffer;
using strategies::Holds;
using strategies::Lifetime;

class Replay {
 public:
  explicit Replay(const strategies::Role& role) : role_(role) {
    for (const strategies::Action& action : role.schedule)
      microbatches_ = std::max(microbatches_, action.microbatch + 1);
    alive_.resize(role.buffers.size() * instances());
    activations_.resize(instances());
    for (const strategies::Block& block : role.blocks) changes_.push_back(memory_changes(role, block));
    for (const Buffer& buffer : role.buffers) {
      if (buffer.lifetime == Lifetime::kStatic) count(buffer, 1);
    }
  }

  void step() {
    memory_ = {};
    note_peak();
    for (const strategies::Action& action : role_.schedule) {
      for (const MemoryChange& change : changes_[action.block]) apply(change, action.microbatch);
    }
  }

  const RoleMemory& memory() const { return memory_; }

 private:
  /// Microbatch -1 has instance 0.
  std::size_t instances() const { return static_cast<std::size_t>(microbatches_) + 1; }

  void apply(const MemoryChange& change, int microbatch) {
    const Buffer& buffer = role_.buffers[change.buffer.value];
    const bool per_microbatch = buffer.lifetime == Lifetime::kMicrobatch;
    const std::size_t instance = per_microbatch ? static_cast<std::size_t>(microbatch + 1) : 0;
    char& alive = alive_[change.buffer.value * instances() + instance];
    if ((alive != 0) == change.alive) return;
    alive = change.alive ? 1 : 0;
    count(buffer, change.alive ? 1 : -1);
    if (per_microbatch && buffer.holds == Holds::kActivations) count_microbatch(instance, change.alive ? 1 : -1);
    if (change.alive) note_peak();
  }

  void count(const Buffer& buffer, std::int64_t sign) {
    now_ += buffer.size * sign;
    by_holds_[static_cast<std::size_t>(buffer.holds)] += buffer.size * sign;
  }

  void count_microbatch(std::size_t instance, int sign) {
    const int before = activations_[instance];
    activations_[instance] += sign;
    if (before == 0) ++live_microbatches_;
    if (activations_[instance] == 0) --live_microbatches_;
  }

  void note_peak() {
    memory_.most_microbatches = std::max(memory_.most_microbatches, live_microbatches_);
    if (now_ <= memory_.peak) return;
    memory_.peak = now_;
    memory_.at_peak = by_holds_;
  }

  const strategies::Role& role_;
  int microbatches_ = 0;
  std::vector<std::vector<MemoryChange>> changes_;  ///< by block
  std::vector<char> alive_;                         ///< by buffer and instance
  std::vector<int> activations_;                    ///< live activation buffers, by instance
  int live_microbatches_ = 0;
  hw_models::Bytes now_{};
  std::array<hw_models::Bytes, 5> by_holds_{};
  RoleMemory memory_;
};

}  // namespace

std::vector<RoleMemory> replay_memory(const strategies::Program& program) {
  std::vector<RoleMemory> result;
  for (const strategies::Role& role : program.roles) {
    Replay replay(role);
    replay.step();  // the first step may start without what the step before leaves behind
    replay.step();
    result.push_back(replay.memory());
  }
  return result;
}

}  // namespace sim
