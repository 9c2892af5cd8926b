// Rows of a table, predicted on all cores: each by itself, so that the results do not depend on their number.
#pragma once

#include <cstddef>
#include <functional>

namespace scenarios {

/// Calls `predict` once for every row below `rows`, in any order and at once. Rethrows what the lowest row that failed
/// threw, after all others.
void for_each_row(std::size_t rows, const std::function<void(std::size_t row)>& predict);

}  // namespace scenarios
