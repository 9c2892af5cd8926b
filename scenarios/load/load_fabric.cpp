#include "scenarios/load/catalog_fields.h"
#include "scenarios/load/load_catalog.h"

namespace scenarios {
namespace {

using hw_models::FabricKind;

constexpr double kMaximumLatency = 1;  // s
constexpr std::int64_t kMostSeed = 1'000'000'000;

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

/// routing: balanced, or {hashed: 7}
void read_routing(MapReader& reader, hw_models::FabricSpec& fabric) {
  const std::optional<Value> routing = reader.value("routing");
  if (!routing) return;
  if (routing->kind() != Value::Kind::kMap) {
    reader.one_of("routing", std::vector<std::pair<std::string, bool>>{{"balanced", true}});
    return;
  }
  MapReader own(*routing, reader.diagnostics());
  if (!own.has("hashed")) own.missing("hashed", "the seed of the hash, e.g. routing: {hashed: 7}");
  if (const auto seed = own.integer("hashed", 0, kMostSeed)) fabric.hash_seed = static_cast<std::uint64_t>(*seed);
  own.finish();
}

void read_shape(MapReader& reader, hw_models::FabricSpec& fabric) {
  read(reader, {"nodes_per_unit", 1, 100'000}, fabric.nodes_per_unit);
  read(reader, {"oversubscription", 1, 1'000}, fabric.oversubscription);
  read(reader, {"units_per_pod", 0, 100'000}, fabric.units_per_pod);
  read(reader, {"spine_oversubscription", 1, 1'000}, fabric.spine_oversubscription);
  if (fabric.spine_oversubscription > 1 && fabric.units_per_pod == 0) {
    reader.diagnostics().error(reader.place("spine_oversubscription"),
                               "'spine_oversubscription' needs a third tier above the spines",
                               "write units_per_pod: 4, or leave it out");
  }
  read(reader, {"planes", 1, 8}, fabric.planes);
  read(reader, {"uplinks", 0, 4096}, fabric.uplinks);
}

}  // namespace

std::optional<hw_models::FabricSpec> load_fabric(const Value& map, const std::string& name, Diagnostics& diagnostics) {
  const std::size_t errors = error_count(diagnostics);
  MapReader reader(map, diagnostics);
  hw_models::FabricSpec fabric;
  fabric.name = read_notes(reader, name).name;
  read_word(reader, {"kind", 0, 0, "kind: rail-optimized, fat-tree or none"}, kFabricWords, fabric.kind);
  read_shape(reader, fabric);
  read_routing(reader, fabric);
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
