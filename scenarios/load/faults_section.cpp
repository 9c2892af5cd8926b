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

/// {leaf: 3, factor: 0.5} or {node: 3, factor: 0.5}
std::optional<hw_models::ThinLink> read_thin_link(const Value& value, Diagnostics& diagnostics) {
  MapReader reader(value, diagnostics);
  if (value.kind() == Value::Kind::kMap) {
    if (reader.has("leaf") && reader.has("node")) {
      diagnostics.error(reader.place("node"), "'leaf' and 'node' exclude each other", "keep one");
    }
    if (!reader.has("leaf") && !reader.has("node")) reader.missing("leaf", "whose uplinks are thin, e.g. leaf: 3");
    if (!reader.has("factor")) reader.missing("factor", "what is left of the bandwidth, e.g. 0.5");
  }
  const auto leaf = reader.integer("leaf", 0, kMostRanks - 1);
  const auto node = reader.integer("node", 0, kMostRanks - 1);
  const auto factor = reader.number("factor", 0, 1);
  reader.finish();
  if ((!leaf && !node) || !factor) return std::nullopt;
  using At = hw_models::ThinLink::At;
  return hw_models::ThinLink{leaf ? At::kLeaf : At::kNode, static_cast<int>(leaf ? *leaf : *node), *factor};
}

}  // namespace

std::optional<Faults> read_faults(const Value& value, Reading& reading) {
  const std::size_t before = error_count(reading.diagnostics);
  MapReader reader(value, reading.diagnostics);
  Faults faults;
  if (const auto slow = reader.value("slow_gpu")) faults.slow_gpu = read_slow_gpu(*slow, reading.diagnostics);
  if (const auto thin = reader.value("thin_link")) faults.thin_link = read_thin_link(*thin, reading.diagnostics);
  reader.finish();
  return error_count(reading.diagnostics) == before ? std::optional(faults) : std::nullopt;
}

}  // namespace scenarios
