#include "hw_models/measured_transfers.h"

#include <algorithm>

namespace hw_models {
namespace {

double number(Bytes bytes) { return static_cast<double>(bytes.value()); }

/// The line through (x0, y0) and (x1, y1) at x.
double line(double x0, double y0, double x1, double y1, double x) { return y0 + (y1 - y0) * (x - x0) / (x1 - x0); }

}  // namespace

Seconds transfer_time(std::span<const MeasuredTransfer> times, Bytes bytes) {
  if (bytes <= times.front().bytes || times.size() == 1) return times.front().time;
  auto above = std::ranges::lower_bound(times, bytes, {}, &MeasuredTransfer::bytes);
  if (above == times.end()) --above;
  const MeasuredTransfer& low = *(above - 1);
  const MeasuredTransfer& high = *above;
  const double seconds =
      line(number(low.bytes), low.time.value(), number(high.bytes), high.time.value(), number(bytes));
  // Noise may let the last line fall.
  return Seconds(bytes > high.bytes ? std::max(seconds, high.time.value()) : seconds);
}

std::optional<Seconds> collective_time(const MeasuredTransfers& measured, Operation operation, Bytes bytes, int ranks) {
  const MeasuredCollective* below = nullptr;
  const MeasuredCollective* above = nullptr;
  for (const MeasuredCollective& each : measured.collectives) {
    if (each.operation != operation) continue;
    if (each.ranks <= ranks) below = &each;
    if (each.ranks >= ranks && above == nullptr) above = &each;
  }
  if (below == nullptr && above == nullptr) return std::nullopt;
  if (below == nullptr) return transfer_time(above->times, bytes);
  const Seconds low = transfer_time(below->times, bytes);
  if (above == nullptr) return low * (static_cast<double>(ranks - 1) / (below->ranks - 1));
  if (above == below) return low;
  const Seconds high = transfer_time(above->times, bytes);
  return Seconds(line(below->ranks, low.value(), above->ranks, high.value(), ranks));
}

}  // namespace hw_models
