// The node that a GPU usually sits in, for measurements that name the GPU only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace scenarios {

/// Catalogue names. nullopt: no usual one is known.
std::optional<std::string> usual_node(std::string_view gpu);

}  // namespace scenarios
