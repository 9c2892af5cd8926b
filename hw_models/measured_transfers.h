// Collectives and messages measured between the devices of one node (`trainyard calibrate`); Network uses them in the
// place of its model.
//
//   between two measured sizes: t is linear in the bytes (an alpha-beta line per size class)
//   below the smallest: t of the smallest;  beyond the largest: the last line goes on
//   between two measured group sizes: linear in the ranks;  beyond the largest: in proportion to ranks - 1
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hw_models/operation.h"
#include "hw_models/units.h"

namespace hw_models {

struct MeasuredTransfer {
  Bytes bytes{};
  Seconds time{};
};

/// One collective on a group of `ranks`. Bytes follow strategies::Collective.
struct MeasuredCollective {
  Operation operation = Operation::kAllReduce;
  int ranks = 2;
  std::vector<MeasuredTransfer> times;  ///< ascending bytes, not empty
};

struct MeasuredTransfers {
  std::vector<MeasuredCollective> collectives;  ///< by operation, then ascending ranks
  std::vector<MeasuredTransfer> send;           ///< a message, from its posting to its arrival; may be empty
};

/// Keys of the hardware file, in their order.
struct OperationName {
  Operation operation;
  std::string_view name;
};
inline constexpr std::array<OperationName, 6> kOperationNames{{{Operation::kAllReduce, "all-reduce"},
                                                               {Operation::kReduceScatter, "reduce-scatter"},
                                                               {Operation::kAllGather, "all-gather"},
                                                               {Operation::kBroadcast, "broadcast"},
                                                               {Operation::kReduce, "reduce"},
                                                               {Operation::kAllToAll, "all-to-all"}}};

/// `times`: not empty.
Seconds transfer_time(std::span<const MeasuredTransfer> times, Bytes bytes);
/// nullopt where the collective was not measured. `ranks` >= 2.
std::optional<Seconds> collective_time(const MeasuredTransfers& measured, Operation operation, Bytes bytes, int ranks);

}  // namespace hw_models
