// Processes that mpirun has started: all run the same tests, and tell each other what came of them.
#pragma once

#include <string>
#include <vector>

namespace executor {

/// This process is one of them, and a kind of communicator is built that connects them.
bool launched();

int launched_rank();

/// Everybody's text, by rank. All must call it.
std::vector<std::string> exchange(const std::string& own);

}  // namespace executor
