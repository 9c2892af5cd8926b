#include "scenarios/report/topology_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "scenarios/report/table.h"

namespace scenarios {
namespace {

using hw_models::BytesPerSecond;

std::string gigabytes(const std::optional<BytesPerSecond>& rate) {
  return rate ? fmt::format("{:.4g} GB/s", rate->value() / 1e9) : "unknown rate";
}

std::string gigabits(BytesPerSecond rate) { return fmt::format("{:.4g} Gb/s", rate.value() * 8 / 1e9); }

void add_tree(const NodeTopology& topology, int index, int depth, std::string& text) {
  const TopologyDevice& device = topology.at(index);
  text += fmt::format("{:{}}{}", "", 2 * depth, device.name);
  if (!device.model.empty()) text += " " + device.model;
  if (!device.id.empty()) text += fmt::format(" [{}]", device.id);
  if (device.uplink) text += fmt::format("  PCIe {}", gigabytes(device.uplink));
  if (device.rate) text += fmt::format("  port {}", gigabits(*device.rate));
  text += "\n";
  for (const int child : topology.children(index)) add_tree(topology, child, depth + 1, text);
}

/// "8 x scale-up, GPU to switches, 18 lanes, 370.8 GB/s"
std::string link_classes(const NodeTopology& topology) {
  std::map<std::string, int> counts;
  for (const ScaleUpLink& link : topology.scale_up) {
    ++counts[fmt::format("scale-up, GPU to {}, {} lanes, {}", link.b == ScaleUpLink::kSwitches ? "switches" : "GPU",
                         link.lanes, gigabytes(link.bandwidth))];
  }
  for (const TopologyDevice& device : topology.devices) {
    if (device.parent >= 0) ++counts[fmt::format("PCIe, {}", gigabytes(device.uplink))];
    if (device.rate) ++counts[fmt::format("network port, {}", gigabits(*device.rate))];
  }
  std::string text;
  for (const auto& [what, count] : counts) text += fmt::format("  {:>3} x {}\n", count, what);
  return text;
}

std::string affinity(const NodeTopology& topology) {
  std::vector<std::vector<std::string>> rows{{"GPU", "nearest NICs", "path"}};
  for (const int gpu : topology.all(TopologyKind::kGpu)) {
    std::string nics;
    const std::vector<int> nearest = topology.nearest_nics(gpu);
    for (const int nic : nearest) nics += (nics.empty() ? "" : ", ") + topology.at(nic).name;
    const std::string path = nearest.empty() ? "-" : name(topology.pcie_path(gpu, nearest.front()));
    rows.push_back({topology.at(gpu).name, nics.empty() ? "-" : nics, path});
  }
  return table(rows);
}

std::string summary(const NodeTopology& topology) {
  std::string text;
  for (const TopologyKind kind : {TopologyKind::kGpu, TopologyKind::kNic, TopologyKind::kCpu, TopologyKind::kPcieSwitch,
                                  TopologyKind::kUnknown}) {
    const std::size_t count = topology.all(kind).size();
    const char* plural = count == 1 ? "" : kind == TopologyKind::kPcieSwitch ? "es" : "s";
    if (count > 0) text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", count, name(kind), plural);
  }
  return text;
}

nlohmann::ordered_json number_or_null(const std::optional<BytesPerSecond>& rate, double unit) {
  return rate ? nlohmann::ordered_json(rate->value() / unit) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::vector<std::string> crossed_rails(const NodeTopology& topology) {
  const std::vector<int> gpus = topology.all(TopologyKind::kGpu);
  std::vector<int> own;  // one NIC per GPU, in GPU order
  for (const int gpu : gpus) {
    const std::vector<int> nearest = topology.nearest_nics(gpu);
    if (nearest.size() != 1 || std::ranges::count(own, nearest.front()) > 0) return {};
    own.push_back(nearest.front());
  }
  std::vector<int> rails = own;  // NICs without a GPU of their own (storage) are on no rail
  std::ranges::sort(rails);
  std::vector<std::string> crossed;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i] != rails[i])
      crossed.push_back(fmt::format("{} - {}", topology.at(gpus[i]).name, topology.at(own[i]).name));
  }
  return crossed;
}

std::string topology_text(const NodeTopology& topology) {
  std::string text = fmt::format("{}: {}\n\n", topology.source, summary(topology));
  for (const int root : topology.children(-1)) add_tree(topology, root, 0, text);
  text += "\nLinks, per direction\n" + link_classes(topology);
  if (!topology.all(TopologyKind::kGpu).empty()) text += "\n" + affinity(topology);
  const std::vector<std::string> crossed = crossed_rails(topology);
  if (!crossed.empty()) {
    text += fmt::format(
        "\nGPU order is not NIC order: {}.\nWhere NIC n is cabled to rail n, these GPUs are on other rails than their "
        "number says.\n",
        fmt::join(crossed, ", "));
  }
  if (!topology.notes.empty()) text += "\nNotes\n";
  for (const std::string& note : topology.notes) text += "  " + note + "\n";
  return text;
}

std::string topology_json(const NodeTopology& topology) {
  nlohmann::ordered_json json{{"source", topology.source}};
  json["devices"] = nlohmann::ordered_json::array();
  for (const TopologyDevice& device : topology.devices) {
    const auto parent =
        device.parent < 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(topology.at(device.parent).name);
    json["devices"].push_back({{"name", device.name},
                               {"kind", name(device.kind)},
                               {"id", device.id},
                               {"parent", parent},
                               {"uplink_GBps", number_or_null(device.uplink, 1e9)},
                               {"port_Gbps", number_or_null(device.rate, 1e9 / 8)},
                               {"model", device.model}});
  }
  json["scale_up"] = nlohmann::ordered_json::array();
  for (const ScaleUpLink& link : topology.scale_up) {
    const auto other = link.b == ScaleUpLink::kSwitches ? nlohmann::ordered_json(nullptr)
                                                        : nlohmann::ordered_json(topology.at(link.b).name);
    json["scale_up"].push_back({{"a", topology.at(link.a).name},
                                {"b", other},
                                {"lanes", link.lanes},
                                {"GBps", number_or_null(link.bandwidth, 1e9)}});
  }
  json["affinity"] = nlohmann::ordered_json::array();
  for (const int gpu : topology.all(TopologyKind::kGpu)) {
    std::vector<std::string> nics;
    const std::vector<int> nearest = topology.nearest_nics(gpu);
    for (const int nic : nearest) nics.push_back(topology.at(nic).name);
    const auto path = nearest.empty() ? nlohmann::ordered_json(nullptr)
                                      : nlohmann::ordered_json(name(topology.pcie_path(gpu, nearest.front())));
    json["affinity"].push_back({{"gpu", topology.at(gpu).name}, {"nics", nics}, {"path", path}});
  }
  json["notes"] = topology.notes;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string topology_dot(const NodeTopology& topology) {
  std::string text = "graph topology {\n  node [shape=box];\n";
  const auto quoted = [](std::string label) {
    for (std::size_t i = 0; (i = label.find_first_of("\"\\", i)) != std::string::npos; i += 2) label.insert(i, "\\");
    return "\"" + label + "\"";
  };
  for (std::size_t i = 0; i < topology.devices.size(); ++i) {
    const TopologyDevice& device = topology.devices[i];
    text += fmt::format("  d{} [label={}];\n", i, quoted(device.name));
    if (device.parent >= 0) {
      text += fmt::format("  d{} -- d{} [label={}];\n", device.parent, i, quoted(gigabytes(device.uplink)));
    }
  }
  bool switched = false;
  for (const ScaleUpLink& link : topology.scale_up) {
    switched |= link.b == ScaleUpLink::kSwitches;
    const std::string other = link.b == ScaleUpLink::kSwitches ? "switches" : fmt::format("d{}", link.b);
    text += fmt::format("  d{} -- {} [label=\"{} lanes\", penwidth=3];\n", link.a, other, link.lanes);
  }
  if (switched) text += "  switches [label=\"scale-up switches\"];\n";
  return text + "}\n";
}

}  // namespace scenarios
