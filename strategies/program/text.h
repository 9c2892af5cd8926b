// The Program as text, for people, golden files and diffs. print and parse are inverse.
#pragma once

#include <string>
#include <string_view>

#include "strategies/program/program.h"

namespace strategies {

std::string print_program(const Program& program);

/// Throws TextError ("line 12: ...") on text that print_program could not have written.
struct TextError {
  int line = 0;
  std::string message;
};
Program parse_program(std::string_view text);

}  // namespace strategies
