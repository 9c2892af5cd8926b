// trainyard topology: a server's own description of its PCIe tree and links, or the network of a scenario's cluster.
#pragma once

#include <string>
#include <vector>

namespace scenarios {

int run_topology(const std::vector<std::string>& arguments);

}  // namespace scenarios
