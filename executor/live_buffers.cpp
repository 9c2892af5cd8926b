#include "executor/live_buffers.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace executor {

using strategies::Buffer;
using strategies::BufferId;
using strategies::Holds;
using strategies::Lifetime;
using strategies::Operation;

namespace {

std::size_t size_of(const Buffer& buffer) { return static_cast<std::size_t>(buffer.size.value()); }

bool is_static_gradient(const Buffer& buffer) {
  return buffer.lifetime == Lifetime::kStatic && buffer.holds == Holds::kGradients;
}

}  // namespace

void LiveBuffers::Instance::take(Arena& arena) {
  if (memory_.data() != nullptr) return;
  memory_ = arena.take(bytes_);
  arena_ = &arena;
  if (zeroed_) std::ranges::fill(memory_, std::byte{0});
}

std::span<std::byte> LiveBuffers::Instance::bytes() const {
  if (memory_.data() == nullptr) throw std::logic_error("a buffer is used before it is allocated");
  return memory_;
}

std::span<float> LiveBuffers::Instance::floats() const {
  const std::span<std::byte> all = bytes();
  return {reinterpret_cast<float*>(all.data()), all.size() / sizeof(float)};
}

LiveBuffers::LiveBuffers(const strategies::Role& role, Arena& arena) : role_(role), arena_(arena) {
  std::size_t gradient_bytes = 0;
  for (const Buffer& buffer : role.buffers) gradient_bytes += is_static_gradient(buffer) ? size_of(buffer) : 0;
  const std::span<std::byte> gradients = arena_.take(gradient_bytes);  // of all parameters, side by side
  std::size_t used = 0;
  for (std::uint32_t i = 0; i < role.buffers.size(); ++i) {
    const Buffer& buffer = role.buffers[i];
    if (buffer.lifetime != Lifetime::kStatic) continue;
    Handle handle;
    if (is_static_gradient(buffer)) {
      handle = std::make_shared<Instance>(gradients.subspan(used, size_of(buffer)));
      used += size_of(buffer);
    } else {
      handle = std::make_shared<Instance>(size_of(buffer));
      handle->take(arena_);
    }
    std::ranges::fill(handle->bytes(), std::byte{0});
    alive_.emplace(Key{i, -1}, std::move(handle));
  }
}

LiveBuffers::Key LiveBuffers::key_of(BufferId buffer, int microbatch) const {
  const bool per_microbatch = role_.buffers[buffer.value].lifetime == Lifetime::kMicrobatch;
  return {buffer.value, per_microbatch ? microbatch : -1};
}

LiveBuffers::Handle LiveBuffers::alive(const Operation& operation, BufferId buffer, int microbatch) const {
  const auto found = alive_.find(key_of(buffer, microbatch));
  if (found != alive_.end()) return found->second;
  throw std::logic_error("operation '" + operation.origin.label + "' uses buffer '" + role_.buffers[buffer.value].name +
                         "', which is not alive");
}

LiveBuffers::Operands LiveBuffers::issue(const Operation& operation, int microbatch) {
  Operands operands;
  for (const BufferId buffer : operation.allocates) {
    const Buffer& allocated = role_.buffers[buffer.value];
    auto handle = std::make_shared<Instance>(size_of(allocated), allocated.is_parameter_gradient());
    if (!alive_.emplace(key_of(buffer, microbatch), handle).second) {
      throw std::logic_error("operation '" + operation.origin.label + "' allocates buffer '" +
                             role_.buffers[buffer.value].name + "', which is alive");
    }
    operands.allocates.push_back(std::move(handle));
  }
  for (const BufferId buffer : operation.reads) operands.reads.push_back(alive(operation, buffer, microbatch));
  for (const BufferId buffer : operation.writes) operands.writes.push_back(alive(operation, buffer, microbatch));
  for (const BufferId buffer : operation.frees) {
    static_cast<void>(alive(operation, buffer, microbatch));  // throws unless it is
    alive_.erase(key_of(buffer, microbatch));
  }
  return operands;
}

void LiveBuffers::end_block() {
  std::erase_if(alive_,
                [this](const auto& entry) { return role_.buffers[entry.first.first].lifetime == Lifetime::kBlock; });
}

void LiveBuffers::start(const Operands& operands) {
  for (const Handle& handle : operands.allocates) handle->take(arena_);
}

std::span<float> LiveBuffers::memory(BufferId static_buffer) const {
  return alive_.at(Key{static_buffer.value, -1})->floats();
}

}  // namespace executor
