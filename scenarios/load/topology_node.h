// A node that a file describes: `node: {topology: FILE}`.
#pragma once

#include <optional>

#include "hw_models/node.h"
#include "scenarios/load/sections.h"

namespace scenarios {

/// What the file tells lies over the `base`, if there is one; what the map's other keys say lies over both. A figure
/// that nobody gives is a finding that names the key to write. nullopt after a finding.
std::optional<hw_models::NodeSpec> read_topology_node(const Value& map, Reading& reading);

}  // namespace scenarios
