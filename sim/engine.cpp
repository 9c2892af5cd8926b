#include "sim/engine.h"

#include <bit>
#include <cstddef>
#include <stdexcept>

namespace sim {
namespace {

// Multipliers of MurmurHash3's 128-bit variant (A. Appleby, public domain).
constexpr std::uint64_t kFirstMultiplier = 0x87c37b91114253d5ULL;
constexpr std::uint64_t kSecondMultiplier = 0x4cf5ad432745937fULL;
constexpr std::uint64_t kIncrement = 0x52dce729ULL;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  value = std::rotl(value * kFirstMultiplier, 31) * kSecondMultiplier;
  return std::rotl(hash ^ value, 27) * 5 + kIncrement;
}

}  // namespace

void Engine::push(const Event& event) {
  if (event.time < now_) throw std::logic_error("Engine::at: an event in the past");
  std::size_t hole = heap_.size();
  heap_.push_back(event);
  while (hole > 0) {
    const std::size_t parent = (hole - 1) / 2;
    if (!earlier(event, heap_[parent])) break;
    heap_[hole] = heap_[parent];
    hole = parent;
  }
  heap_[hole] = event;
}

EventId Engine::next() {
  const Event first = heap_.front();
  const Event last = heap_.back();
  heap_.pop_back();
  // Sift the last event down from the root.
  const std::size_t size = heap_.size();
  std::size_t hole = 0;
  for (std::size_t child = 1; child < size; child = 2 * hole + 1) {
    if (child + 1 < size && earlier(heap_[child + 1], heap_[child])) ++child;
    if (!earlier(heap_[child], last)) break;
    heap_[hole] = heap_[child];
    hole = child;
  }
  if (size > 0) heap_[hole] = last;
  now_ = first.time;
  ++processed_;
  fingerprint_ = mixed(mixed(fingerprint_, static_cast<std::uint64_t>(first.time)), first.id);
  return first.id;
}

}  // namespace sim
