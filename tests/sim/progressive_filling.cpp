#include "tests/sim/progressive_filling.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double factor_on(const FluidCase::Transfer& transfer, LinkIndex link) {
  double factor = 0;
  for (const LinkUse& use : transfer.uses) factor += use.link == link ? use.factor : 0;
  return factor;
}

}  // namespace

std::vector<double> progressive_filling(const std::vector<double>& capacities,
                                        const std::vector<FluidCase::Transfer>& transfers,
                                        const std::vector<std::size_t>& active) {
  std::vector<double> rates(active.size(), -1);  // -1: still rising
  while (std::ranges::count(rates, -1.0) > 0) {
    // The next level at which something stops, and what: a link, or a cap.
    double level = kNever;
    LinkIndex full = static_cast<LinkIndex>(capacities.size());
    std::size_t capped = 0;
    for (LinkIndex link = 0; link < capacities.size(); ++link) {
      double left = capacities[link], share = 0;
      for (std::size_t i = 0; i < active.size(); ++i) {
        const double factor = factor_on(transfers[active[i]], link);
        (rates[i] < 0 ? share : left) += rates[i] < 0 ? factor * transfers[active[i]].weight : -factor * rates[i];
      }
      if (share > 0 && left / share < level) level = left / share, full = link;
    }
    for (std::size_t i = 0; i < active.size(); ++i) {
      const FluidCase::Transfer& transfer = transfers[active[i]];
      if (rates[i] < 0 && transfer.cap / transfer.weight < level) {
        level = transfer.cap / transfer.weight, full = static_cast<LinkIndex>(capacities.size()), capped = i;
      }
    }
    level = std::max(level, 0.0);
    for (std::size_t i = 0; i < active.size(); ++i) {
      const FluidCase::Transfer& transfer = transfers[active[i]];
      const bool stops = full < capacities.size() ? factor_on(transfer, full) > 0 : i == capped;
      if (rates[i] < 0 && stops) rates[i] = level * transfer.weight;
    }
  }
  return rates;
}

std::vector<std::int64_t> slow_ends(FluidCase fluid_case) {
  constexpr double kSlack = 1.0 / 64;  // nanoseconds: rounding in the sums below
  const std::size_t count = fluid_case.transfers.size();
  std::vector<std::int64_t> ends(count, -1);
  std::vector<double> left;
  for (const auto& transfer : fluid_case.transfers) left.push_back(static_cast<double>(transfer.bytes));
  std::size_t changed = 0;
  for (double now = 0;;) {
    for (; changed < fluid_case.changes.size() && static_cast<double>(fluid_case.changes[changed].time_ns) <= now;
         ++changed) {
      fluid_case.capacities[fluid_case.changes[changed].link] = fluid_case.changes[changed].capacity;
    }
    std::vector<std::size_t> active;
    double next =
        changed < fluid_case.changes.size() ? static_cast<double>(fluid_case.changes[changed].time_ns) : kNever;
    for (std::size_t i = 0; i < count; ++i) {
      const auto begin = static_cast<double>(fluid_case.transfers[i].start_ns + fluid_case.transfers[i].latency_ns);
      if (begin > now) next = std::min(next, begin);
      if (begin <= now && ends[i] < 0) active.push_back(i);
    }
    const std::vector<double> rates = progressive_filling(fluid_case.capacities, fluid_case.transfers, active);
    for (std::size_t i = 0; i < active.size(); ++i) {
      if (rates[i] > 0) next = std::min(next, now + std::ceil(left[active[i]] / (rates[i] * 1e-9) - kSlack));
    }
    if (next == kNever) return ends;
    for (std::size_t i = 0; i < active.size(); ++i) {
      left[active[i]] -= rates[i] * 1e-9 * (next - now);
      if (rates[i] > 0 && left[active[i]] <= kSlack * rates[i] * 1e-9)
        ends[active[i]] = static_cast<std::int64_t>(next);
    }
    now = next;
  }
}

}  // namespace sim
