// Plain-text tables.
#pragma once

#include <string>
#include <vector>

namespace scenarios {

/// Cells padded to the width of their column, two spaces apart, no blanks at the end of a line. Columns from
/// `right_from` on are right-aligned (numbers); -1 = none.
std::string table(const std::vector<std::vector<std::string>>& rows, int right_from = -1);

}  // namespace scenarios
