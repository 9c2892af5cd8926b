#include "scenarios/load/topology_node.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <system_error>

#include "hw_models/payload_rate.h"
#include "scenarios/import/node_figures.h"
#include "scenarios/import/read_topology.h"
#include "scenarios/load/catalog_choice.h"
#include "scenarios/load/load_catalog.h"

namespace scenarios {
namespace {

using hw_models::BytesPerSecond;
using hw_models::ScaleUpKind;

struct LaneRate {
  std::string_view architecture;
  double gigabytes;
};
/// Nominal rate of one NVLink or Infinity Fabric link, per direction: data sheets. NVLink 2 to 4: 25, NVLink 5: 50;
/// MI200: 50, MI300: 64, MI350: 76.5.
constexpr std::array<LaneRate, 8> kLaneRates{{{"Volta", 25},
                                              {"Ampere", 25},
                                              {"Hopper", 25},
                                              {"Blackwell", 50},
                                              {"Blackwell Ultra", 50},
                                              {"CDNA2", 50},
                                              {"CDNA3", 64},
                                              {"CDNA4", 76.5}}};
/// Workstation cards bridge at 14.0625 GB/s a lane (RTX 3090, RTX A6000: 112.5 GB/s both ways over four).
constexpr LaneRate kWorkstation{"rtx-", 14.0625};

std::optional<NodeFigures> read_figures(const Value& path, Reading& reading) {
  const std::filesystem::path file = reading.folder / path.text();
  std::error_code problem;
  if (!std::filesystem::is_regular_file(file, problem)) {
    reading.diagnostics.error(
        path.place(), fmt::format("cannot read the topology '{}': there is no such file", shortened(path.text(), 100)),
        "a path is relative to the folder of the scenario");
    return std::nullopt;
  }
  try {
    NodeFigures figures = node_figures(read_topology(file.string()));
    if (figures.gpus > 0) return figures;
    reading.diagnostics.error(path.place(), fmt::format("'{}' names no GPU", shortened(path.text(), 100)),
                              "NCCL_TOPO_DUMP_FILE=topo.xml writes a whole topology when a job starts");
  } catch (const InputError& defect) {
    reading.other_files += defect.what();
  }
  return std::nullopt;
}

/// What the file settles cannot be said otherwise.
bool contradicts(const Value& map, const NodeFigures& figures, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.findings().size();
  for (const Value::Entry& entry : map.entries()) {
    const bool settled = entry.key == "gpus" || entry.key == "numa_domains" || entry.key == "gpus_per_pcie_switch" ||
                         (entry.key == "nics" && figures.nics > 0);
    if (settled) {
      diagnostics.error(entry.place, fmt::format("'{}' beside 'topology', which tells it", entry.key), "leave it out");
    }
  }
  return diagnostics.findings().size() > before;
}

std::optional<double> lane_rate(const std::string& gpu, const Catalog& catalog) {
  if (gpu.starts_with(kWorkstation.architecture)) return kWorkstation.gigabytes * 1e9;
  try {
    const std::optional<hw_models::GpuSpec> spec = catalog.gpu(gpu);
    for (const LaneRate& known : kLaneRates) {
      if (spec && spec->architecture == known.architecture) return known.gigabytes * 1e9;
    }
  } catch (const InputError&) {
    return std::nullopt;  // the cluster's loader reports it
  }
  return std::nullopt;
}

/// What a file tells, in the words of a node's keys.
class Keys {
 public:
  Keys(const NodeFigures& figures, std::optional<double> lane) : figures_(figures), lane_(lane) {}

  std::string text(bool with_scale_up) {
    add("gpus", figures_.gpus);
    add("numa_domains", figures_.numa_domains);
    if (!figures_.gpu.empty()) add("gpu", figures_.gpu);
    if (figures_.nics > 0) add("nics", figures_.nics);
    if (figures_.nic_bandwidth) add_rate("nic_bandwidth", figures_.nic_bandwidth->value());
    if (figures_.pcie_bandwidth) add_rate("pcie_bandwidth", figures_.pcie_bandwidth->value());
    if (with_scale_up && figures_.scale_up) add_scale_up(*figures_.scale_up);
    return text_;
  }

 private:
  template <class T>
  void add(std::string_view key, const T& value) {
    text_ += fmt::format("{}: {}\n", key, value);
  }
  void add_rate(std::string_view key, double rate) { text_ += fmt::format("{}: {:.6f} GB/s\n", key, rate / 1e9); }

  /// Nominal: the network's model takes the efficiency off again.
  std::optional<double> rate(const NodeFigures::Joint& joint) const {
    if (lane_) return joint.lanes * *lane_;
    if (joint.payload) return joint.payload->value() / hw_models::kScaleUpEfficiency;
    return std::nullopt;
  }

  void add_scale_up(ScaleUpKind kind) {
    static constexpr std::array<const char*, 5> kWords{"switch", "mesh", "pairs", "links", "none"};
    add("scale_up", kWords[static_cast<std::size_t>(kind)]);
    if (kind == ScaleUpKind::kNone) return;
    if (kind == ScaleUpKind::kLinks) return add_links();
    const std::optional<double> one = rate(figures_.joints.front());
    if (!one) return;
    add_rate("scale_up_bandwidth", kind == ScaleUpKind::kMesh ? *one * (figures_.gpus - 1) : *one);
    if (kind == ScaleUpKind::kMesh) add_rate("pair_bandwidth", *one);
  }

  void add_links() {
    std::string links;
    for (const NodeFigures::Joint& joint : figures_.joints) {
      const std::optional<double> bandwidth = rate(joint);
      if (!bandwidth) return;
      links += fmt::format("{}{}-{}: {:.6f} GB/s", links.empty() ? "" : ", ", joint.a, joint.b, *bandwidth / 1e9);
    }
    text_ += "links: {" + links + "}\n";
  }

  const NodeFigures& figures_;
  std::optional<double> lane_;
  std::string text_;
};

/// The base without what the file tells; figures of scale-up links stay with their kind.
Value remaining_base(const Value& base, const Value& told, Diagnostics& diagnostics) {
  Value rest = without(base, "gpus_per_pcie_switch");
  MapReader file(told, diagnostics), old(base, diagnostics);
  const auto kind = file.text("scale_up");
  if (!kind) return rest;
  const auto gpus = file.integer("gpus", 1, 256);
  const auto domain = old.integer("scale_up_domain", 1, 1'000'000);
  const bool beyond_node = kind == "switch" && domain && gpus && *domain > *gpus && *domain % *gpus == 0 &&
                           domain > old.integer("gpus", 1, 256);
  if (!beyond_node) rest = without(rest, "scale_up_domain");
  if (kind != old.text("scale_up")) rest = without(rest, "scale_up_bandwidth");
  return without(without(rest, "pair_bandwidth"), "links");
}

std::optional<std::string> text_at(const Value& map, const char* key, Diagnostics& diagnostics) {
  MapReader reader(map, diagnostics);
  return reader.text(key);
}

}  // namespace

std::optional<hw_models::NodeSpec> read_topology_node(const Value& map, Reading& reading) {
  MapReader reader(map, reading.diagnostics);
  const std::optional<std::string> path = reader.text("topology");
  const std::optional<Base> base = read_base(map, "nodes", "", reading);
  if (!path || !base) return std::nullopt;
  const std::optional<NodeFigures> figures = read_figures(*reader.value("topology"), reading);
  const Value own = without(without(map, "topology"), "base");
  if (!figures || contradicts(own, *figures, reading.diagnostics)) return std::nullopt;

  std::string gpu = figures->gpu;
  if (gpu.empty() && base->map) gpu = text_at(*base->map, "gpu", reading.diagnostics).value_or("");
  gpu = text_at(own, "gpu", reading.diagnostics).value_or(gpu);
  const std::string text = Keys(*figures, lane_rate(gpu, reading.catalog)).text(!reader.has("scale_up"));
  Diagnostics inner("topology", text);
  const std::optional<Value> told = parse_yaml(text, inner);
  if (!told) return std::nullopt;
  Value complete = merged(*told, own, reader.place("topology"));
  if (base->map) {
    const Value rest = remaining_base(*base->map, *told, inner);
    complete = merged(rest, complete, base->place);
  }
  const std::string name = base->map ? base->name : std::filesystem::path(*path).stem().string();
  std::optional<hw_models::NodeSpec> node = load_node(complete, name, reading.diagnostics);
  if (node && node->nics == figures->nics) node->wiring = figures->wiring;
  return node;
}

}  // namespace scenarios
