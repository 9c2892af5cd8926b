#include "sim/serial_stretch.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sim/lane_tables.h"

namespace sim {
namespace {

/// Work of this process alone, and a host operation that waits for it.
bool is_pair(const FlatBlock& block, std::uint32_t first) {
  if (first + 1 >= block.operations.size()) return false;
  const FlatOperation& work = block.operations[first];
  const FlatOperation& host = block.operations[first + 1];
  if (work.host || work.meeting != Meeting::kNone || work.duration_ns <= 0 || !host.host || host.input) return false;
  const auto awaited = block.after.begin() + host.first_after;
  return std::find(awaited, awaited + host.after_count, first) != awaited + host.after_count;
}

bool goes_on(const FlatBlock& block, std::uint32_t next) {
  return is_pair(block, next) && block.operations[next - 1].duration_ns + block.operations[next].issued_ns > 0;
}

/// Fills in what follows from its ends.
SerialStretch measured(SerialStretch stretch, const FlatBlock& block) {
  stretch.from = stretch.to = stretch.last;
  for (std::uint32_t i = stretch.first; i < stretch.last; i += 2) {
    if (!block.operations[i].on_compute()) continue;
    if (stretch.from == stretch.last) stretch.from = i;
    stretch.to = i;
  }
  Ledger ledger;
  Breakdown before{};
  std::int64_t begin = 0;
  Moment host;
  for (std::uint32_t i = stretch.first; i < stretch.last; ++i) {
    const FlatOperation& what = block.operations[i];
    const std::int64_t ready = host.time + what.issued_ns;
    const std::int64_t end = ready + what.duration_ns;
    const Cause cause =
        ledger.book({ready, ready, end, what.waiting, what.running}, host.cause, what.on_compute(), true);
    host = {end, what.host ? ledger.add(end, TimeKind::kHost, cause) : cause};
    if (i == stretch.from) begin = end;
    if (i == stretch.from) before = ledger.spent();
    if (i > stretch.from && i <= stretch.to && what.named >= 0 && block.last_namer[i] >= stretch.last) {
      stretch.outlived.push_back({static_cast<std::uint32_t>(what.named), end - begin});
    }
    if (i == stretch.to) stretch.duration_ns = end - begin;
    if (i == stretch.to) stretch.spent = ledger.spent();
  }
  for (std::size_t kind = 0; kind < before.size(); ++kind) stretch.spent[kind] -= before[kind];
  for (std::size_t lane = 0; lane < stretch.passed.size(); ++lane) {
    const std::vector<std::uint32_t>& on_lane = block.on_lane[lane];
    const auto passed = std::ranges::lower_bound(on_lane, stretch.last) - on_lane.begin();
    stretch.passed[lane] = static_cast<std::uint32_t>(passed);
  }
  return stretch;
}

}  // namespace

std::vector<SerialStretch> serial_stretches(const FlatBlock& block) {
  std::vector<SerialStretch> stretches;
  for (std::uint32_t i = 0; i < block.operations.size(); ++i) {
    if (!is_pair(block, i)) continue;
    SerialStretch stretch;
    stretch.first = i;
    stretch.last = i + 2;
    while (goes_on(block, stretch.last)) stretch.last += 2;
    i = stretch.last - 1;
    stretches.push_back(measured(std::move(stretch), block));
  }
  return stretches;
}

}  // namespace sim
