#include "scenarios/load/catalog_fields.h"
#include "scenarios/load/load_catalog.h"

namespace scenarios {
namespace {

using hw_models::FabricKind;

constexpr double kMaximumLatency = 1;  // s

const std::vector<std::pair<std::string, FabricKind>> kFabricWords{
    {"rail-optimized", FabricKind::kRailOptimized}, {"fat-tree", FabricKind::kFatTree}, {"none", FabricKind::kNone}};

/// collectives: {launch: 2 us, step: 1.2, ramp: 300 us}
void read_collectives(MapReader& reader, hw_models::FabricSpec& fabric) {
  const std::optional<Value> map = reader.value("collectives");
  if (!map) return;
  MapReader own(*map, reader.diagnostics());
  hw_models::FabricCorrection correction;
  read(own, {"launch", 0, 0.1, "launch: 2 us"}, correction.launch);
  read(own, {"step", 0, 100, "step: 1.2"}, correction.step);
  read(own, {"ramp", 0, 0.1, "ramp: 300 us"}, correction.ramp);
  own.finish();
  fabric.collectives = correction;
}

}  // namespace

std::optional<hw_models::FabricSpec> load_fabric(const Value& map, const std::string& name, Diagnostics& diagnostics) {
  const std::size_t errors = error_count(diagnostics);
  MapReader reader(map, diagnostics);
  hw_models::FabricSpec fabric;
  fabric.name = read_notes(reader, name).name;
  read_word(reader, {"kind", 0, 0, "kind: rail-optimized, fat-tree or none"}, kFabricWords, fabric.kind);
  read(reader, {"nodes_per_unit", 1, 100'000}, fabric.nodes_per_unit);
  read(reader, {"oversubscription", 1, 1'000}, fabric.oversubscription);
  read(reader, {"efficiency", 0.01, 1}, fabric.efficiency);
  read(reader, {"switch_latency", 0, kMaximumLatency}, fabric.switch_latency);
  read(reader, {"endpoint_latency", 0, kMaximumLatency}, fabric.endpoint_latency);
  read(reader, {"jitter", 0, kMaximumLatency}, fabric.jitter);
  read_collectives(reader, fabric);
  read(reader, {"power_per_port", 0, 1e4}, fabric.power_per_port);
  reader.finish();
  return error_count(diagnostics) == errors ? std::optional(fabric) : std::nullopt;
}

}  // namespace scenarios
