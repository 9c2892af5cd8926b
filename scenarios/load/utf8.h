// Characters of text in UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scenarios {

/// Bytes of the character at the start of `text`, 0 when it is none. Table 3-7 of the Unicode standard.
std::size_t character_length(std::string_view text);

/// With '?' for every byte that is no UTF-8 and every control character: those would move the terminal's cursor.
std::string printable(std::string_view text);

}  // namespace scenarios
