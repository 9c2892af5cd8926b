// Well-formedness of a Program. Each check is one file check_*.cpp and one line in `checks()`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/program/program.h"

namespace strategies {

struct Check {
  std::string_view name, summary;
  /// Appends one sentence per defect, naming role, action or block, operation and label.
  void (*run)(const Program& program, std::vector<std::string>& defects);
};

/// references in range; messages match; collectives agree; no cycles; buffers live; dry run makes progress.
std::span<const Check> checks();

/// Runs all checks; empty = well-formed. Later checks are skipped when references are out of range.
std::vector<std::string> check_program(const Program& program);

}  // namespace strategies
