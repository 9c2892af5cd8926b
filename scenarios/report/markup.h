// Text inside HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace scenarios {

/// With &, <, > and " as entities.
std::string escape_markup(std::string_view text);

}  // namespace scenarios
