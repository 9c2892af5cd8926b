// What is done to JSON text before it is parsed, and where things stand in it: parsed values do not remember.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "scenarios/load/diagnostics.h"

namespace scenarios {

/// Line and column of byte `offset`.
Place place_of_byte(std::string_view text, std::size_t offset);

/// Offset of the opening bracket nested deeper than `limit`, if any. Parsing is safe when there is none.
std::optional<std::size_t> nested_deeper_than(std::string_view text, int limit);

/// `text` with the numbers that Python writes and JSON does not know (NaN, Infinity, -Infinity) as null (NaN as 0.0),
/// padded with blanks so that places stay.
std::string with_python_numbers_as_null(std::string_view text);

struct KeyOffsets {
  std::size_t key = 0, value = 0;
};
/// The last `key` directly in the object that starts at or after `object` (a parser keeps the last of duplicates).
/// `text` must be valid JSON.
std::optional<KeyOffsets> find_json_key(std::string_view text, std::size_t object, std::string_view key);

}  // namespace scenarios
