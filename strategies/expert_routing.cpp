#include "strategies/expert_routing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace strategies {
namespace {

/// Loads that differ by less are those of a balanced router: rows are whole.
constexpr double kSmallestDifference = 1e-9;

/// What exceeds `most` falls on the others, in their proportions.
void cap(std::vector<double>& shares, double most) {
  std::vector<bool> full(shares.size());
  for (bool exceeded = true; exceeded;) {
    exceeded = false;
    double left = 1, open = 0;
    for (std::size_t e = 0; e < shares.size(); ++e) {
      if (!full[e] && shares[e] > most * (1 + kSmallestDifference)) full[e] = exceeded = true;
      if (full[e]) {
        left -= most;
      } else {
        open += shares[e];
      }
    }
    if (!exceeded) return;
    for (std::size_t e = 0; e < shares.size(); ++e) shares[e] = full[e] ? most : shares[e] * left / open;
  }
}

}  // namespace

std::vector<double> expert_shares(const ExpertRouting& routing, int experts, int per_token) {
  std::vector<double> shares = routing.choices;
  for (int i = 1; routing.choices.empty() && i <= experts; ++i) shares.push_back(std::pow(i, -routing.exponent));
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= all;
  cap(shares, 1.0 / per_token);
  return shares;
}

RankLoads rank_loads(const ExpertRouting& routing, int experts, int per_token, int ranks) {
  if (ranks == 1) return {};
  const std::vector<double> shares = expert_shares(routing, experts, per_token);
  std::vector<double> loads(static_cast<std::size_t>(ranks));
  for (std::size_t e = 0; e < shares.size(); ++e) {
    const std::size_t measured = e * loads.size() / shares.size(), dealt = e % loads.size();
    loads[routing.choices.empty() ? dealt : measured] += ranks * shares[e];
  }
  const auto busiest = std::ranges::max_element(loads);
  RankLoads result{static_cast<int>(busiest - loads.begin()), *busiest, (ranks - *busiest) / (ranks - 1)};
  return result.busiest - result.others < kSmallestDifference ? RankLoads{} : result;
}

}  // namespace strategies
