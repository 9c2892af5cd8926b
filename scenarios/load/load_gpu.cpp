#include "scenarios/load/catalog_fields.h"
#include "scenarios/load/load_catalog.h"
#include "scenarios/load/measured_section.h"

namespace scenarios {
namespace {

using hw_models::GpuSpec;

// Ranges: from a small CPU core to a few generations beyond today's accelerators. A figure outside is a unit mistake.
constexpr double kMinimumRate = 1e6, kMaximumRate = 1e18;            // FLOP/s
constexpr double kMinimumBandwidth = 1e6, kMaximumBandwidth = 1e15;  // bytes/s

void read_matrix_peaks(MapReader& reader, GpuSpec& gpu) {
  const std::optional<Value> map = reader.value("matrix_peak");
  if (!map) {
    if (!reader.has("matrix_peak")) reader.missing("matrix_peak", "write matrix_peak: {bf16: 989 TFLOP/s}");
    return;
  }
  const std::size_t errors = error_count(reader.diagnostics());
  MapReader peaks(*map, reader.diagnostics());
  bool any = false;
  for (const hw_models::DTypeInfo& dtype : hw_models::kDTypes) {
    read(peaks, {dtype.name, kMinimumRate, kMaximumRate}, gpu.matrix_peak[static_cast<std::size_t>(dtype.dtype)]);
    any = any || gpu.peak(dtype.dtype).value() > 0;
  }
  peaks.finish();
  if (!any && error_count(reader.diagnostics()) == errors) {
    reader.diagnostics().error(map->place(), "'matrix_peak' names no number format", "write {bf16: 989 TFLOP/s}");
  }
}

/// Absolute in the file; kept relative, so that what slows all matrix products slows these.
void read_format_efficiencies(MapReader& reader, GpuSpec& gpu) {
  const std::optional<Value> map = reader.value("format_efficiency");
  if (!map) return;
  MapReader formats(*map, reader.diagnostics());
  for (const hw_models::DTypeInfo& dtype : hw_models::kDTypes) {
    double efficiency = 0;
    read(formats, {dtype.name, 0.01, 1}, efficiency);
    gpu.relative_efficiency[static_cast<std::size_t>(dtype.dtype)] = efficiency / gpu.matrix_efficiency;
  }
  formats.finish();
}

}  // namespace

std::optional<GpuSpec> load_gpu(const Value& map, const std::string& name, Diagnostics& diagnostics) {
  const std::size_t errors = error_count(diagnostics);
  MapReader reader(map, diagnostics);
  GpuSpec gpu;
  gpu.name = read_notes(reader, name).name;
  read(reader, "vendor", gpu.vendor);
  read(reader, "architecture", gpu.architecture);
  read(reader, {"multiprocessors", 1, 10'000, "multiprocessors: 132"}, gpu.multiprocessors);
  read_frequency(reader, {"boost_clock", 1e6, 1e11}, gpu.boost_clock_hz);
  read_matrix_peaks(reader, gpu);
  read(reader, {"vector_peak", kMinimumRate, kMaximumRate, "vector_peak: 67 TFLOP/s"}, gpu.vector_peak);
  read(reader, {"memory", 1e6, 1e14, "memory: 80 GiB"}, gpu.memory);
  read(reader, {"memory_bandwidth", kMinimumBandwidth, kMaximumBandwidth, "memory_bandwidth: 3350 GB/s"},
       gpu.memory_bandwidth);
  read(reader, {"l2", 0, 1e11}, gpu.l2);
  read(reader, {"matrix_efficiency", 0.01, 1}, gpu.matrix_efficiency);
  read_format_efficiencies(reader, gpu);
  read(reader, "fp8_any_layout", gpu.fp8_any_layout);
  read(reader, {"sustained_clock", 0.1, 1}, gpu.sustained_clock);
  read(reader, {"speed_spread", 0, 1}, gpu.speed_spread);
  read(reader, {"memory_efficiency", 0.01, 1}, gpu.memory_efficiency);
  read(reader, {"misaligned_efficiency", 0.01, 1}, gpu.misaligned_efficiency);
  read(reader, {"idle_power", 0, 1e5}, gpu.idle_power);
  read(reader, {"active_power", 0, 1e5}, gpu.active_power);
  if (const auto measured = reader.value("measured")) gpu.measured = read_measured_kernels(*measured, diagnostics);
  reader.finish();
  const bool powers_known = error_count(diagnostics) == errors && reader.has("active_power");
  if (powers_known && gpu.active_power < gpu.idle_power) {
    diagnostics.error(reader.place("active_power"), "'active_power' is below 'idle_power'", "swap the two?");
  }
  return error_count(diagnostics) == errors ? std::optional(gpu) : std::nullopt;
}

}  // namespace scenarios
