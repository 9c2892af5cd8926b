// What travels over a socket: frames of a header and up to kFramePayload bytes. The frames of several operations may
// alternate. Both ends run the same program on machines of the same byte order; the magic in the kind refuses others.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "executor/communicator/communicator.h"

namespace executor {

inline constexpr std::uint32_t kFramePayload = 128 << 10;  ///< 64 and 256 KiB are slower (tests/bench)

enum class FrameKind : std::uint32_t {
  kData = 0x54594401,
  kWaiting,  ///< the sender waits for rank `total`; the payload says in what
  kFailed,   ///< the sender has failed (`channel.number`) because of rank `total`; the payload says how
  kLeaving   ///< nothing follows
};

/// A collective (group, its number among the group's collectives) or messages of one tag (group 0, tag).
struct Channel {
  std::uint64_t group = 0, number = 0;
  auto operator<=>(const Channel&) const = default;
};

/// What the members of a group must agree on. All zero for messages.
struct CallShape {
  std::uint64_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;  ///< hash of the sizes
  std::uint32_t root = 0;
  std::uint8_t kind = 0, element = 0, reduction = 0, unused = 0;
  bool operator==(const CallShape&) const = default;
};

struct FrameHeader {
  FrameKind kind = FrameKind::kData;
  std::uint32_t payload = 0;
  std::uint64_t total = 0;  ///< bytes of the whole stream
  Channel channel = {};
  CallShape shape = {};
};
static_assert(std::is_trivially_copyable_v<FrameHeader> && sizeof(FrameHeader) == 64);

/// What a kind of collective doesn't use is left at zero.
CallShape shape_of(const CollectiveCall& call);

/// "all-reduce sum of 4096 bytes of float32"
std::string describe(const CallShape& shape);

/// FNV-1a, for the identity of groups, block lists and collectives.
std::uint64_t hash_of(std::span<const std::byte> bytes);

}  // namespace executor
