// Groups and runs that the tests of the collective algorithms share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strategies/collectives/symbolic_run.h"

namespace strategies {

/// 1 ... 33 and 64.
std::vector<int> rank_counts();

struct NamedGroup {
  std::string name;
  GroupDomains domains;
};

/// n ranks, 1, 2, 3, 4, 8 or all per domain (fewer choices beyond 16), or dealt out to 2 or 3 domains; each layout
/// once.
std::vector<NamedGroup> groups_of(int n);

/// Runs the algorithm after checking that it accepts; adds a test failure for every finding.
SymbolicResult run_checked(std::string_view algorithm, const Exchange& exchange, const GroupDomains& group,
                           const SymbolicOptions& options = {});

int ceil_log2(int n);

/// Amounts times `whole` / parts: exact multiples of S / whole. Adds a test failure where they are not.
std::int64_t in_parts_of(std::int64_t amount, const SymbolicResult& run, int whole);

}  // namespace strategies
