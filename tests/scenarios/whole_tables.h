// Whole tables of published runs take minutes with sanitizers, which see the same code on single rows.
#pragma once

#include <string_view>

#include "tests/sanitized.h"

namespace scenarios {

inline constexpr bool kWholeTables = !tests::kSanitized;
inline constexpr const char* kNoWholeTables = "whole tables of runs are left out with sanitizers";

/// Whether a command shown in a document predicts one.
inline bool names_whole_table(std::string_view command) {
  return command.find("tests/data/published/runs.csv") != std::string_view::npos ||
         command.find("tests/data/published/memory.csv") != std::string_view::npos;
}

}  // namespace scenarios
