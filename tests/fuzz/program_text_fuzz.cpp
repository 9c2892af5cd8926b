// parse_program on any bytes: a Program that prints as these bytes, or a TextError; then the checks on what it holds.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "strategies/program/check.h"
#include "strategies/program/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const strategies::Program program = strategies::parse_program(text);
    if (strategies::print_program(program) != text) std::abort();
    strategies::check_program(program);
  } catch (const strategies::TextError& error) {
    if (error.line < 1 || error.message.empty()) std::abort();
  }
  return 0;
}
