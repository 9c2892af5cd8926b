#include "scenarios/load/measured_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "scenarios/load/catalog_fields.h"

namespace scenarios {
namespace {

using hw_models::MeasuredKernel;
using hw_models::MeasuredKernels;
using hw_models::MeasuredTransfer;
using hw_models::MeasuredTransfers;

constexpr double kLargestSize = 1e12;         // elements, bytes
constexpr double kLongestMicroseconds = 1e9;  // a quarter of an hour
constexpr double kShortestMicroseconds = 1e-4;
constexpr int kMostRanks = 4096;

bool ascending(const std::vector<double>& values) {
  return std::ranges::adjacent_find(values, std::greater_equal<>{}) == values.end();
}

/// A list of sizes, ascending; empty after a finding.
std::vector<double> read_sizes(MapReader& reader, std::string_view key) {
  if (!reader.has(key)) reader.missing(key, fmt::format("write {}: [16, 256, 4096]", key));
  std::vector<double> sizes = reader.numbers(key, 1, kLargestSize).value_or(std::vector<double>{});
  if (!sizes.empty() && !ascending(sizes)) {
    reader.diagnostics().error(reader.place(key), fmt::format("'{}' must rise from number to number", key));
    sizes.clear();
  }
  return sizes;
}

/// As many times as `points`, in seconds; empty after a finding.
std::vector<double> read_times(MapReader& reader, std::string_view key, std::size_t points) {
  if (!reader.has(key)) reader.missing(key, fmt::format("write {}: [12.5, 180], in microseconds", key));
  std::vector<double> times =
      reader.numbers(key, kShortestMicroseconds, kLongestMicroseconds).value_or(std::vector<double>{});
  const bool known = points > 0;  // else the sizes have a finding of their own
  if (known && !times.empty() && times.size() != points) {
    reader.diagnostics().error(reader.place(key), fmt::format("'{}' has {} numbers, the sizes beside it make {} points",
                                                              key, times.size(), points));
    times.clear();
  }
  for (double& time : times) time *= 1e-6;
  return times;
}

MeasuredKernel read_kernel(const hw_models::KernelKind& kind, const Value& value, Diagnostics& diagnostics) {
  MapReader reader(value, diagnostics);
  MeasuredKernel kernel{.kind = std::string(kind.name), .alone = {}, .together = {}};
  for (std::size_t axis = 0; axis < kind.dimensions(); ++axis) {
    kernel.alone.axes.push_back(read_sizes(reader, kind.axes[axis]));
  }
  kernel.together.axes = kernel.alone.axes;
  const std::size_t points = hw_models::points_of(kernel.alone.axes);
  kernel.alone.seconds = read_times(reader, "alone_us", points);
  kernel.together.seconds = kernel.alone.seconds;
  if (reader.has("together_us")) kernel.together.seconds = read_times(reader, "together_us", points);
  reader.finish();
  return kernel;
}

bool is_map(const Value& value, Diagnostics& diagnostics) {
  if (value.kind() == Value::Kind::kMap) return true;
  MapReader(value, diagnostics).finish();  // says so
  return false;
}

std::vector<MeasuredTransfer> read_transfers(const Value& value, Diagnostics& diagnostics) {
  MapReader reader(value, diagnostics);
  const std::vector<double> bytes = read_sizes(reader, "bytes");
  const std::vector<double> seconds = read_times(reader, "us", bytes.size());
  reader.finish();
  std::vector<MeasuredTransfer> transfers;
  for (std::size_t i = 0; i < std::min(bytes.size(), seconds.size()); ++i) {
    transfers.push_back({hw_models::Bytes(std::llround(bytes[i])), hw_models::Seconds(seconds[i])});
  }
  return transfers;
}

/// {2: {bytes: [...], us: [...]}, 4: ...}: by group size.
void read_collective(hw_models::Operation operation, const Value& value, Diagnostics& diagnostics,
                     MeasuredTransfers& measured) {
  if (!is_map(value, diagnostics)) return;
  int before = 1;
  for (const Value::Entry& entry : value.entries()) {
    int ranks = 0;
    const char* end = entry.key.data() + entry.key.size();
    const auto [last, problem] = std::from_chars(entry.key.data(), end, ranks);
    if (problem != std::errc() || last != end || ranks <= before || ranks > kMostRanks) {
      diagnostics.error(entry.place, fmt::format("'{}' must be a group size from 2 on, rising", shortened(entry.key)),
                        "write 2: {bytes: [1024], us: [27]}");
      continue;
    }
    before = ranks;
    measured.collectives.push_back({operation, ranks, read_transfers(entry.value, diagnostics)});
  }
}

}  // namespace

std::optional<MeasuredKernels> read_measured_kernels(const Value& value, Diagnostics& diagnostics) {
  const std::size_t errors = error_count(diagnostics);
  if (!is_map(value, diagnostics)) return std::nullopt;
  MapReader reader(value, diagnostics);
  MeasuredKernels measured;
  read(reader, {"devices", 1, kMostRanks}, measured.devices);
  read(reader, {"operation", 0, 1}, measured.operation);
  for (const hw_models::KernelKind& kind : hw_models::kernel_kinds()) {
    if (const auto map = reader.value(kind.name)) measured.kinds.push_back(read_kernel(kind, *map, diagnostics));
  }
  reader.finish();
  std::ranges::sort(measured.kinds, {}, &MeasuredKernel::kind);
  return error_count(diagnostics) == errors ? std::optional(measured) : std::nullopt;
}

std::optional<MeasuredTransfers> read_measured_transfers(const Value& value, Diagnostics& diagnostics) {
  const std::size_t errors = error_count(diagnostics);
  if (!is_map(value, diagnostics)) return std::nullopt;
  MapReader reader(value, diagnostics);
  MeasuredTransfers measured;
  if (const auto send = reader.value("send")) measured.send = read_transfers(*send, diagnostics);
  for (const hw_models::OperationName& each : hw_models::kOperationNames) {
    if (const auto map = reader.value(each.name)) read_collective(each.operation, *map, diagnostics, measured);
  }
  reader.finish();
  return error_count(diagnostics) == errors ? std::optional(measured) : std::nullopt;
}

}  // namespace scenarios
