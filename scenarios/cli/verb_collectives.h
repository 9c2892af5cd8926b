// `trainyard collectives`: what NCCL takes on a cluster, beside what was measured.
#pragma once

#include <string>
#include <vector>

namespace scenarios {

int run_collectives(const std::vector<std::string>& arguments);

}  // namespace scenarios
