// The memory of one rank: every instance of every buffer of its role, from the operation that allocates it to the last
// one that uses it.
//
// The Program allocates and frees in program order, when operations are issued. Real memory is taken when the
// allocating operation starts and returned when the buffer has been freed and everything issued before that has
// completed: an operation in flight never sees its memory in other hands.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "executor/arena.h"
#include "strategies/program/program.h"

namespace executor {

class LiveBuffers {
 public:
  class Instance;
  using Handle = std::shared_ptr<Instance>;

  /// What one execution of an operation works on; holds the memory until it is destroyed.
  struct Operands {
    std::vector<Handle> reads, writes, allocates;
  };

  /// Static buffers get their memory here, zeroed, gradients next to each other.
  LiveBuffers(const strategies::Role& role, Arena& arena);

  /// Call in program order. Throws std::logic_error, naming the buffer, when `operation` uses one that is not alive or
  /// allocates one that is.
  Operands issue(const strategies::Operation& operation, int microbatch);
  /// The block's operations have all been issued: what lives within one block instance ends.
  void end_block();
  /// Takes the memory of what the operation allocates.
  void start(const Operands& operands);

  std::span<float> memory(strategies::BufferId static_buffer) const;

 private:
  using Key = std::pair<std::uint32_t, int>;  ///< buffer, microbatch (-1: of the block, or static)
  Key key_of(strategies::BufferId buffer, int microbatch) const;
  Handle alive(const strategies::Operation& operation, strategies::BufferId buffer, int microbatch) const;

  const strategies::Role& role_;
  Arena& arena_;
  std::map<Key, Handle> alive_;
};

class LiveBuffers::Instance {
 public:
  /// `zeroed`: memory that is taken is set to zero: kernels add to gradients.
  explicit Instance(std::size_t bytes, bool zeroed = false) : bytes_(bytes), zeroed_(zeroed) {}
  /// Of memory that is another's.
  explicit Instance(std::span<std::byte> memory) : bytes_(memory.size()), memory_(memory) {}
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance() {
    if (arena_ != nullptr) arena_->give_back(memory_);
  }

  void take(Arena& arena);
  /// Throws std::logic_error while it has none.
  std::span<std::byte> bytes() const;
  std::span<float> floats() const;

 private:
  Arena* arena_ = nullptr;  ///< to return the memory to
  std::size_t bytes_ = 0;
  bool zeroed_ = false;
  std::span<std::byte> memory_;
};

}  // namespace executor
