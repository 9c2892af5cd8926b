#include "scenarios/load/catalog_fields.h"
#include "scenarios/load/sections.h"

namespace scenarios {
namespace {

constexpr std::int64_t kMostRanks = 1'000'000;  // as many as a cluster may have GPUs

std::optional<sim::SlowGpu> read_slow_gpu(const Value& value, Diagnostics& diagnostics) {
  MapReader reader(value, diagnostics);
  if (value.kind() == Value::Kind::kMap) {
    if (!reader.has("rank")) reader.missing("rank", "which rank runs on the slow GPU, e.g. 5");
    if (!reader.has("factor")) reader.missing("factor", "its speed over that of the others, e.g. 0.8");
  }
  const auto rank = reader.integer("rank", 0, kMostRanks - 1);
  const auto factor = reader.number("factor", 0.001, 1);
  reader.finish();
  if (!rank || !factor) return std::nullopt;
  return sim::SlowGpu{strategies::Rank{static_cast<std::int32_t>(*rank)}, *factor};
}

}  // namespace

std::optional<Faults> read_faults(const Value& value, Reading& reading) {
  const std::size_t before = error_count(reading.diagnostics);
  MapReader reader(value, reading.diagnostics);
  Faults faults;
  if (const auto slow = reader.value("slow_gpu")) faults.slow_gpu = read_slow_gpu(*slow, reading.diagnostics);
  reader.finish();
  return error_count(reading.diagnostics) == before ? std::optional(faults) : std::nullopt;
}

}  // namespace scenarios
