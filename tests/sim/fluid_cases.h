// Random networks and transfers for the tests of the fluid network, and the runs that the tests compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hw_models/units.h"
#include "sim/fluid_network.h"

namespace sim {

struct FluidCase {
  struct Transfer {
    std::int64_t start_ns = 0;
    std::int64_t bytes = 0;
    std::vector<LinkUse> uses;
    double weight = 1;
    double cap = MaxMinFairness::kNoCap;  ///< bytes/s
    std::int64_t latency_ns = 0;
  };
  struct Change {
    std::int64_t time_ns = 0;
    LinkIndex link = 0;
    double capacity = 0;
  };
  std::vector<double> capacities;  ///< bytes/s
  std::vector<Transfer> transfers;
  std::vector<Change> changes;
};

std::vector<hw_models::BytesPerSecond> as_rates(const std::vector<double>& bytes_per_second);

struct CaseKind {
  std::size_t links = 8;
  std::size_t transfers = 40;
  std::size_t most_links = 4;  ///< per transfer
  bool plain = false;          ///< factors and weights 1, no caps: what every flow simulator can do
  bool ties = false;           ///< equal capacities and a few sizes and times: many things happen at once
  std::size_t changes = 0;
};
FluidCase random_case(std::uint64_t seed, const CaseKind& kind);

/// Drives a case: starts and capacity changes are events of the engine like any other.
class CaseRun {
 public:
  explicit CaseRun(const FluidCase& fluid_case);
  /// Calls `before(elapsed_ns)` ahead of each event: rates have been constant for so long.
  template <class Before>
  void run(Before&& before) {
    std::int64_t last = 0;
    engine_.run([&](EventId id) {
      before(network_, engine_.now() - last);
      last = engine_.now();
      handle(id);
    });
  }
  void run() {
    run([](const FluidNetwork&, std::int64_t) {});
  }
  const FluidNetwork& network() const { return network_; }
  const Engine& engine() const { return engine_; }
  const std::vector<std::int64_t>& ends() const { return ends_; }  ///< -1: did not end
  const std::vector<std::size_t>& order() const { return order_; }

 private:
  void handle(EventId id);

  const FluidCase& case_;
  Engine engine_;
  FluidNetwork network_;
  std::vector<std::int64_t> ends_;
  std::vector<std::size_t> order_;
};

std::vector<std::int64_t> ends_of(const FluidCase& fluid_case);

}  // namespace sim
