// Text with units -> numbers in base units. Bits are not bytes, GB is not GiB, and a number without a unit is an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace scenarios {

enum class QuantityKind : std::uint8_t {
  kBytes,      ///< "80 GiB", "40 MB" -> bytes
  kBandwidth,  ///< "900 GB/s", "400 Gb/s", "400Gbps" -> bytes per second
  kFlopRate,   ///< "989 TFLOP/s" -> FLOP/s
  kTime,       ///< "5 us", "3 days" -> seconds
  kFrequency,  ///< "1830 MHz" -> Hz
  kPower,      ///< "700 W", "10.2 kW" -> W
  kTokens      ///< "15T", "300B tokens", "15e12 tokens" -> tokens
};

struct ParsedQuantity {
  double value = 0;
  std::string error;   ///< empty = ok; else what is wrong, without a full stop
  std::string advice;  ///< e.g. "write 900 GB/s"
};

ParsedQuantity parse_quantity(QuantityKind kind, std::string_view text);

/// "an amount of bytes", "a bandwidth", ...
std::string_view noun(QuantityKind kind);

/// Short text that parse_quantity reads: "80 GB", "900 GB/s", "5 us". Six digits.
std::string print_quantity(QuantityKind kind, double value);

}  // namespace scenarios
