#include "strategies/program/fingerprint.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hw_models/mixed.h"
#include "strategies/program/text.h"

namespace strategies {
namespace {

using hw_models::mixed;

/// h <- mixed(h ^ word) x odd + seed over little-endian 8-byte words (the last padded with zeros), then the length.
/// The state is a bijection of the word, so texts that differ in one word never collide.
std::uint64_t hashed(std::string_view text, std::uint64_t seed) {
  std::uint64_t state = seed;
  for (std::size_t begin = 0; begin < text.size(); begin += 8) {
    const std::string_view bytes = text.substr(begin, 8);
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    state = mixed(state ^ word) * hw_models::kGolden + seed;
  }
  return mixed(state ^ text.size());
}

}  // namespace

std::string fingerprint(const Program& program) {
  // The text form is injective and holds no pointer, locale or byte order. The seeds are the first hexadecimal digits
  // of pi and of e.
  const std::string text = print_program(program);
  return fmt::format("{:016x}{:016x}", hashed(text, 0x243f6a8885a308d3ULL), hashed(text, 0xb7e151628aed2a6bULL));
}

}  // namespace strategies
