#include "tests/sim/fluid_cases.h"

#include <algorithm>
#include <random>

namespace sim {

std::vector<hw_models::BytesPerSecond> as_rates(const std::vector<double>& bytes_per_second) {
  std::vector<hw_models::BytesPerSecond> rates;
  for (const double rate : bytes_per_second) rates.emplace_back(rate);
  return rates;
}

FluidCase random_case(std::uint64_t seed, const CaseKind& kind) {
  std::mt19937_64 random(seed);
  const auto below = [&random](std::uint64_t bound) { return random() % bound; };
  FluidCase result;
  for (std::size_t i = 0; i < kind.links; ++i) {
    result.capacities.push_back(kind.ties ? 8e9 : 1e9 * static_cast<double>(5 + below(95)));
  }
  for (std::size_t i = 0; i < kind.transfers; ++i) {
    FluidCase::Transfer& transfer = result.transfers.emplace_back();
    transfer.start_ns = static_cast<std::int64_t>(kind.ties ? below(4) * 100'000 : below(400'000));
    transfer.bytes = static_cast<std::int64_t>(kind.ties ? (1 + below(3)) * 240'000 : 1'000 + below(2'000'000));
    std::vector<LinkIndex> links;
    for (LinkIndex link = 0; link < kind.links; ++link) links.push_back(link);
    for (std::size_t used = 1 + below(kind.most_links); used > 0; --used) {
      const auto pick = static_cast<std::ptrdiff_t>(below(links.size()));
      const double factor = kind.plain || below(2) == 0 ? 1 : 0.25 + static_cast<double>(below(1'000)) / 333;
      transfer.uses.push_back({links[static_cast<std::size_t>(pick)], factor});
      links.erase(links.begin() + pick);
    }
    if (kind.plain) continue;
    if (below(3) == 0) transfer.weight = static_cast<double>(1 + below(7)) / 2;
    if (below(4) == 0) transfer.cap = 1e8 * static_cast<double>(1 + below(60));
    if (below(4) == 0) transfer.latency_ns = static_cast<std::int64_t>(below(5'000));
  }
  for (std::size_t i = 0; i < kind.changes; ++i) {
    const auto link = static_cast<LinkIndex>(below(kind.links));
    // The last change of a link leaves it with capacity, so that everything ends.
    const auto time = static_cast<std::int64_t>(below(500'000));
    result.changes.push_back({time, link, below(5) == 0 ? 0 : 1e9 * static_cast<double>(1 + below(60))});
    result.changes.push_back({time + 50'000, link, 1e9 * static_cast<double>(5 + below(60))});
  }
  std::ranges::stable_sort(result.changes, {}, &FluidCase::Change::time_ns);
  for (LinkIndex link = 0; kind.changes > 0 && link < kind.links; ++link)
    result.changes.push_back({600'000, link, 9e9});
  return result;
}

CaseRun::CaseRun(const FluidCase& fluid_case)
    : case_(fluid_case), network_(engine_, as_rates(fluid_case.capacities), 0), ends_(fluid_case.transfers.size(), -1) {
  EventId id = FluidNetwork::kEvents;
  for (const auto& transfer : case_.transfers) engine_.at(transfer.start_ns, id++);
  for (const auto& change : case_.changes) engine_.at(change.time_ns, id++);
}

void CaseRun::handle(EventId id) {
  if (network_.owns(id)) {
    network_.handle(id, [this](std::uint64_t tag) {
      ends_[tag] = engine_.now();
      order_.push_back(tag);
    });
    return;
  }
  const std::size_t index = id - FluidNetwork::kEvents;
  if (index >= case_.transfers.size()) {
    const FluidCase::Change& change = case_.changes[index - case_.transfers.size()];
    network_.set_capacity(change.link, hw_models::BytesPerSecond(change.capacity));
    return;
  }
  const FluidCase::Transfer& transfer = case_.transfers[index];
  network_.start({.work = hw_models::Bytes(transfer.bytes),
                  .uses = transfer.uses,
                  .tag = index,
                  .latency_ns = transfer.latency_ns,
                  .weight = transfer.weight,
                  .cap = hw_models::BytesPerSecond(transfer.cap)});
}

std::vector<std::int64_t> ends_of(const FluidCase& fluid_case) {
  CaseRun run(fluid_case);
  run.run();
  return run.ends();
}

}  // namespace sim
