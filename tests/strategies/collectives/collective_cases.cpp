#include "tests/strategies/collectives/collective_cases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <set>

namespace strategies {

std::vector<int> rank_counts() {
  std::vector<int> counts;
  for (int n = 1; n <= 33; ++n) counts.push_back(n);
  counts.push_back(64);
  return counts;
}

std::vector<NamedGroup> groups_of(int n) {
  std::vector<NamedGroup> groups;
  std::set<std::vector<int>> seen;
  const auto add = [&](const std::string& name, const std::vector<int>& label) {
    if (seen.insert(label).second) groups.push_back({name, GroupDomains(label)});
  };
  std::vector<int> label(static_cast<std::size_t>(n));
  for (const int per_domain : {1, 2, 3, 4, 8, n}) {
    if (n > 16 && (per_domain == 2 || per_domain == 3)) continue;
    for (int r = 0; r < n; ++r) label[static_cast<std::size_t>(r)] = r / per_domain;
    add(fmt::format("{} ranks, {} per domain", n, per_domain), label);
  }
  for (const int domains : {2, 3}) {
    for (int r = 0; r < n; ++r) label[static_cast<std::size_t>(r)] = r % domains;
    add(fmt::format("{} ranks dealt to {} domains", n, domains), label);
  }
  return groups;
}

SymbolicResult run_checked(std::string_view algorithm, const Exchange& exchange, const GroupDomains& group,
                           const SymbolicOptions& options) {
  const CollectiveAlgorithm* found = find_collective_algorithm(algorithm);
  if (found == nullptr) {
    ADD_FAILURE() << "no algorithm " << algorithm;
    return {};
  }
  SymbolicResult run = run_symbolically(exchange, group, all_steps(*found, exchange, group), options);
  for (const std::string& finding : run.findings) {
    ADD_FAILURE() << algorithm << " " << name(exchange.kind) << ", " << group.ranks() << " ranks in " << group.domains()
                  << " domains: " << finding;
  }
  return run;
}

int ceil_log2(int n) { return static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1))); }

std::int64_t in_parts_of(std::int64_t amount, const SymbolicResult& run, int whole) {
  EXPECT_EQ(amount * whole % run.parts, 0);
  return amount * whole / run.parts;
}

}  // namespace strategies
