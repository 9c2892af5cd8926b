#include "executor/communicator/frame.h"

#include <fmt/format.h>

#include "executor/communicator/checked_call.h"

namespace executor {

CallShape shape_of(const CollectiveCall& call) {
  CallShape shape;
  shape.tag = call.tag;
  shape.kind = static_cast<std::uint8_t>(call.kind);
  if (call.kind == CollectiveKind::kAllToAll) return shape;  // its bytes may differ by member
  shape.bytes = call.data.size();
  if (reduces(call.kind)) {
    shape.element = static_cast<std::uint8_t>(call.element);
    shape.reduction = static_cast<std::uint8_t>(call.reduction);
  }
  if (call.kind == CollectiveKind::kBroadcast || call.kind == CollectiveKind::kReduce) {
    shape.root = static_cast<std::uint32_t>(call.root);
  } else {
    shape.blocks = hash_of(std::as_bytes(call.block_bytes));
  }
  return shape;
}

std::string describe(const CallShape& shape) {
  const auto kind = static_cast<CollectiveKind>(shape.kind);
  std::string text = strategies::name(kind);
  if (kind != CollectiveKind::kAllToAll) {
    if (reduces(kind)) text += fmt::format(" {}", name(static_cast<Reduction>(shape.reduction)));
    text += fmt::format(" of {} bytes", shape.bytes);
    if (reduces(kind)) text += fmt::format(" of {}", name(static_cast<Element>(shape.element)));
  }
  if (kind == CollectiveKind::kBroadcast) text += fmt::format(" from position {}", shape.root);
  if (kind == CollectiveKind::kReduce) text += fmt::format(" to position {}", shape.root);
  if (shape.tag != 0) text += fmt::format(", tag {}", shape.tag);
  return text;
}

std::uint64_t hash_of(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace executor
