#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>

#include "strategies/program/check_parts.h"

namespace strategies {
namespace {

/// Replays one step of one role in program order, as the stream-ordered allocator sees it. A mistake in a block is
/// reported at its first call only.
class BufferReplay {
 public:
  BufferReplay(const Program& program, std::uint32_t role, std::vector<std::string>& defects)
      : program_(program), index_(role), role_(program.roles[role]), defects_(defects) {
    for (const Action& action : role_.schedule) microbatches_.push_back(action.microbatch);
    std::ranges::sort(microbatches_);
    microbatches_.erase(std::unique(microbatches_.begin(), microbatches_.end()), microbatches_.end());
    live_.resize(role_.buffers.size() * microbatches_.size());
  }

  void check() {
    for (action_ = 0; action_ < role_.schedule.size(); ++action_) {
      const Action& action = role_.schedule[action_];
      microbatch_ =
          static_cast<std::size_t>(std::ranges::lower_bound(microbatches_, action.microbatch) - microbatches_.begin());
      const std::vector<Operation>& operations = role_.blocks[action.block].operations;
      allocated_.clear();
      for (operation_ = 0; operation_ < operations.size(); ++operation_) check_operation(operations[operation_]);
      check_block_end();
    }
    check_step_end();
  }

 private:
  /// char, because references to the bits of vector<bool> are awkward.
  char& live(BufferId buffer) { return live_[buffer.value * microbatches_.size() + microbatch_]; }
  bool is_static(BufferId buffer) const { return role_.buffers[buffer.value].lifetime == Lifetime::kStatic; }

  void check_operation(const Operation& operation) {
    for (const BufferId buffer : operation.allocates) {
      if (is_static(buffer)) {
        report(buffer, "is static and allocated");
      } else if (live(buffer) != 0) {
        report(buffer, "is allocated while it is live");
      }
      live(buffer) = 1;
      allocated_.push_back(buffer);
    }
    for (const BufferId buffer : operation.reads) check_use(buffer, "is read but not live");
    for (const BufferId buffer : operation.writes) check_use(buffer, "is written but not live");
    for (const BufferId buffer : operation.frees) {
      if (is_static(buffer)) {
        report(buffer, "is static and freed");
      } else if (live(buffer) == 0) {
        report(buffer, "is freed but not live");
      }
      live(buffer) = 0;
    }
  }

  void check_use(BufferId buffer, const char* what) {
    if (!is_static(buffer) && live(buffer) == 0) report(buffer, what);
  }

  void check_block_end() {
    for (const BufferId buffer : allocated_) {
      if (role_.buffers[buffer.value].lifetime != Lifetime::kBlock || live(buffer) == 0) continue;
      live(buffer) = 0;
      if (!reported_.insert({role_.schedule[action_].block, kEnd, buffer.value}).second) continue;
      defects_.push_back(fmt::format("{}: buffer {} \"{}\" outlives its block",
                                     place_of_action(program_, index_, action_), buffer.value,
                                     role_.buffers[buffer.value].name));
    }
  }

  void check_step_end() {
    for (std::uint32_t i = 0; i < role_.buffers.size(); ++i) {
      for (microbatch_ = 0; microbatch_ < microbatches_.size(); ++microbatch_) {
        if (is_static({i}) || live({i}) == 0) continue;
        defects_.push_back(fmt::format("{}: buffer {} \"{}\" of microbatch {} is never freed",
                                       place_of_role(program_, index_), i, role_.buffers[i].name,
                                       microbatches_[microbatch_]));
        break;
      }
    }
  }

  void report(BufferId buffer, const char* what) {
    if (!reported_.insert({role_.schedule[action_].block, operation_, buffer.value}).second) return;
    defects_.push_back(fmt::format("{}: buffer {} \"{}\" {}", place_in_action(program_, index_, action_, operation_),
                                   buffer.value, role_.buffers[buffer.value].name, what));
  }

  static constexpr std::uint32_t kEnd = 0xffffffff;

  const Program& program_;
  std::uint32_t index_;
  const Role& role_;
  std::vector<std::string>& defects_;
  std::vector<int> microbatches_;    ///< ascending, each once
  std::vector<char> live_;           ///< [buffer x microbatches + microbatch]
  std::vector<BufferId> allocated_;  ///< in this action
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> reported_;  ///< block, operation, buffer
  std::uint32_t action_ = 0, operation_ = 0;
  std::size_t microbatch_ = 0;
};

}  // namespace

void check_buffers(const Program& program, std::vector<std::string>& defects) {
  for (std::uint32_t role = 0; role < program.roles.size(); ++role) BufferReplay(program, role, defects).check();
}

}  // namespace strategies
