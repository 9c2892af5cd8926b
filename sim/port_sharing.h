// How transfers of one GPU that are in flight at once share its ports, and what they leave of the GPU to kernels.
//
//   load of a transfer on a port = share of the port that it occupies while it runs alone, in units of 1/4096
//   rates     max-min fair in bytes on the busiest port of each (max_min_fairness.h), at most 1:
//             sum over transfers of load x rate <= 1 on every port
//   kernels   matrix products and attention run at 1 - sum of the multiprocessors held (held whatever the rate is)
//             those bound by memory at                1 - sum of (memory bandwidth used x rate)
//
// Rates are whole numbers of 1/4096 rounded down, so that work left is an integer and results have no rounding order.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "hw_models/wire_load.h"

namespace sim {

inline constexpr std::int32_t kFullRate = 4096;
/// Of its speed alone, what a kernel keeps at least beside any transfers: they do not stop it altogether. A bound for
/// absurd inputs, not reached by three collectives on any GPU of the catalogue.
inline constexpr std::int32_t kLeastKernelRate = kFullRate / 8;

/// Shares of a GPU that a transfer takes while it runs alone, in 1/4096.
struct PortLoad {
  std::array<std::int32_t, hw_models::kPorts> ports{};  ///< by hw_models::Port
  std::int32_t multiprocessors = 0;
  std::int32_t memory = 0;
  auto operator<=>(const PortLoad&) const = default;
};

using LoadId = std::uint32_t;  ///< index in Prices::loads
inline constexpr LoadId kNoLoad = 0;

/// `load` with the directions of all ports exchanged: what a message is to its receiver.
PortLoad mirrored(PortLoad load);

/// The loads of a Program's transfers, each once.
struct PortLoads {
  std::vector<PortLoad> all{PortLoad{}};     ///< by LoadId
  std::vector<LoadId> at_receiver{kNoLoad};  ///< by LoadId of a message's sender

  LoadId add(const PortLoad& load);
};

/// What a kernel is short of when it loses a part of the GPU.
enum class Bound : std::uint8_t { kNothing, kMultiprocessors, kMemory };

class PortSharing {
 public:
  struct Rates {
    std::vector<std::int32_t> transfers;                                   ///< in the order of the loads asked for
    std::array<std::int32_t, 3> kernels{kFullRate, kFullRate, kFullRate};  ///< by Bound
  };

  /// `loads` must outlive it.
  explicit PortSharing(const PortLoads& loads);

  /// `in_flight`: ascending. Good for the life of the object.
  const Rates& among(const std::vector<LoadId>& in_flight);

 private:
  Rates solve(const std::vector<LoadId>& in_flight) const;

  std::span<const PortLoad> loads_;
  Rates nothing_;
  std::vector<Rates> alone_;  ///< by LoadId: most of the time there is but one
  std::map<std::vector<LoadId>, Rates> known_;
};

}  // namespace sim
