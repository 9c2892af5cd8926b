// Which cluster descriptions make sense.
#pragma once

#include "hw_models/cluster.h"

namespace hw_models {

/// Throws std::invalid_argument "field: what is wrong" for the first contradiction found, e.g.
/// "node.nics: 2 nodes cannot reach each other without NICs".
void check(const ClusterSpec& spec);

}  // namespace hw_models
