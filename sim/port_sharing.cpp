#include "sim/port_sharing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/max_min_fairness.h"

namespace sim {
namespace {

/// Rates in the solver: 2^20 is full speed, so that 1/4096 of it is far from the solver's grain.
constexpr double kSolverFull = 1 << 20;

/// The solver is right to 2^-40; without this a half could come out as 2047.
constexpr double kRounding = 1.0 / 64;

std::int32_t busiest(const PortLoad& load) { return *std::max_element(load.ports.begin(), load.ports.end()); }

std::int32_t left_over(std::int32_t taken) { return std::max(kFullRate - taken, kLeastKernelRate); }

}  // namespace

PortLoad mirrored(PortLoad load) {
  for (std::size_t out = 0; out < hw_models::kPorts; out += 2) std::swap(load.ports[out], load.ports[out + 1]);
  return load;
}

/// With every load its mirror image is here, too.
LoadId PortLoads::add(const PortLoad& load) {
  const auto found = std::ranges::find(all, load);
  const auto id = static_cast<LoadId>(found - all.begin());
  if (found != all.end()) return id;
  const PortLoad other = mirrored(load);
  const LoadId at_other = other == load ? id : id + 1;
  all.push_back(load);
  at_receiver.push_back(at_other);
  if (at_other == id) return id;
  all.push_back(other);
  at_receiver.push_back(id);
  return id;
}

PortSharing::PortSharing(const PortLoads& loads) : loads_(loads.all) {
  for (LoadId id = 0; id < loads_.size(); ++id) alone_.push_back(solve({id}));
}

const PortSharing::Rates& PortSharing::among(const std::vector<LoadId>& in_flight) {
  if (in_flight.empty()) return nothing_;
  if (in_flight.size() == 1) return alone_[in_flight.front()];
  const auto found = known_.find(in_flight);
  return found != known_.end() ? found->second : known_.emplace(in_flight, solve(in_flight)).first->second;
}

PortSharing::Rates PortSharing::solve(const std::vector<LoadId>& in_flight) const {
  const std::vector<hw_models::BytesPerSecond> capacities(hw_models::kPorts, hw_models::BytesPerSecond(kSolverFull));
  MaxMinFairness fairness(capacities);
  std::vector<MaxMinFairness::Slot> slots;
  for (const LoadId id : in_flight) {
    const PortLoad& load = loads_[id];
    std::vector<LinkUse> uses;
    for (LinkIndex port = 0; port < hw_models::kPorts; ++port) {
      if (load.ports[port] > 0) uses.push_back({port, static_cast<double>(load.ports[port]) / kFullRate});
    }
    const double weight = uses.empty() ? 1 : static_cast<double>(kFullRate) / busiest(load);
    slots.push_back(fairness.add(uses, weight, hw_models::BytesPerSecond(kSolverFull)));
  }
  fairness.solve();
  Rates rates;
  std::int32_t multiprocessors = 0, memory = 0;
  for (std::size_t i = 0; i < in_flight.size(); ++i) {
    const double rate = std::floor(fairness.rate(slots[i]) / kSolverFull * kFullRate + kRounding);
    rates.transfers.push_back(std::clamp(static_cast<std::int32_t>(rate), 1, kFullRate));
    multiprocessors += loads_[in_flight[i]].multiprocessors;
    memory += loads_[in_flight[i]].memory * rates.transfers.back() / kFullRate;
  }
  rates.kernels = {kFullRate, left_over(multiprocessors), left_over(memory)};
  return rates;
}

}  // namespace sim
