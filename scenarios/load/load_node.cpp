#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>

#include "hw_models/pair_links.h"
#include "scenarios/load/catalog_fields.h"
#include "scenarios/load/load_catalog.h"
#include "scenarios/load/measured_section.h"
#include "scenarios/load/read_file.h"

namespace scenarios {
namespace {

using hw_models::NodeSpec;
using hw_models::ScaleUpKind;

// A link outside these is a unit mistake: 1 Mb/s to 1000 times the fastest of today.
constexpr double kMinimumBandwidth = 1.25e5, kMaximumBandwidth = 1e15;  // bytes/s
constexpr double kMaximumLatency = 1;                                   // s
constexpr int kMaximumGpus = 256, kMaximumNics = 256, kMaximumDomain = 100'000;

const std::vector<std::pair<std::string, ScaleUpKind>> kScaleUpWords{{"switch", ScaleUpKind::kSwitch},
                                                                     {"mesh", ScaleUpKind::kMesh},
                                                                     {"pairs", ScaleUpKind::kPairs},
                                                                     {"links", ScaleUpKind::kLinks},
                                                                     {"none", ScaleUpKind::kNone}};

std::optional<int> index_of(std::string_view text) {
  int index = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), index);
  return problem == std::errc() && end == text.data() + text.size() && index >= 0 ? std::optional(index) : std::nullopt;
}

hw_models::BytesPerSecond widest_link(const NodeSpec& node) {
  hw_models::BytesPerSecond widest{};
  for (const hw_models::PairLink& link : node.links) widest = std::max(widest, link.bandwidth);
  return widest;
}

/// Between two GPUs when not given: a switch and a bridge give a pair everything, a mesh splits it over all others.
hw_models::BytesPerSecond default_pair_bandwidth(const NodeSpec& node) {
  if (node.scale_up == ScaleUpKind::kLinks) return widest_link(node);
  if (node.scale_up != ScaleUpKind::kMesh || node.gpus < 2) return node.scale_up_bandwidth;
  return node.scale_up_bandwidth / (node.gpus - 1);
}

/// "0-3" -> GPUs 0 and 3.
std::optional<std::pair<int, int>> gpus_of(std::string_view key, int gpus) {
  const std::size_t dash = key.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::optional<int> a = index_of(key.substr(0, dash)), b = index_of(key.substr(dash + 1));
  if (!a || !b || *a >= gpus || *b >= gpus || *a == *b) return std::nullopt;
  return std::minmax(*a, *b);
}

/// {0-1: 25 GB/s, 0-3: 50 GB/s}: by pair of GPUs.
void read_links(const Value& map, Diagnostics& diagnostics, NodeSpec& node) {
  MapReader reader(map, diagnostics);
  if (map.kind() != Value::Kind::kMap) return;
  for (const Value::Entry& entry : map.entries()) {
    hw_models::PairLink link;
    read(reader, {entry.key, kMinimumBandwidth, kMaximumBandwidth}, link.bandwidth);
    const std::optional<std::pair<int, int>> gpus = gpus_of(entry.key, node.gpus);
    if (!gpus) {
      diagnostics.error(entry.place,
                        fmt::format("'{}' is not a pair of the node's {} GPUs", shortened(entry.key), node.gpus),
                        "write links: {0-1: 25 GB/s}");
      continue;
    }
    std::tie(link.a, link.b) = *gpus;
    const auto same = [&](const hw_models::PairLink& other) { return other.a == link.a && other.b == link.b; };
    if (std::any_of(node.links.begin(), node.links.end(), same)) {
      diagnostics.error(entry.place, fmt::format("the link {}-{} stands twice", link.a, link.b), "keep one");
    }
    node.links.push_back(link);
  }
  reader.finish();
}

/// All links of the GPU that has most.
hw_models::BytesPerSecond most_linked(const NodeSpec& node) {
  std::vector<hw_models::BytesPerSecond> sums(static_cast<std::size_t>(node.gpus));
  for (const hw_models::PairLink& link : node.links) {
    sums[static_cast<std::size_t>(link.a)] += link.bandwidth;
    sums[static_cast<std::size_t>(link.b)] += link.bandwidth;
  }
  return *std::max_element(sums.begin(), sums.end());
}

void read_single_links(MapReader& reader, NodeSpec& node) {
  const auto links = reader.value("links");
  if (node.scale_up != ScaleUpKind::kLinks) return;
  if (!links) return reader.missing("links", "write links: {0-1: 25 GB/s}");
  read_links(*links, reader.diagnostics(), node);
  node.scale_up_bandwidth = most_linked(node);
}

void read_scale_up(MapReader& reader, NodeSpec& node) {
  read_word(reader, {"scale_up", 0, 0, "scale_up: switch, mesh, pairs, links or none"}, kScaleUpWords, node.scale_up);
  node.scale_up_domain = node.gpus;
  read(reader, {"scale_up_domain", 1, kMaximumDomain}, node.scale_up_domain);
  read_single_links(reader, node);
  const bool linked = node.scale_up != ScaleUpKind::kNone && node.scale_up != ScaleUpKind::kLinks && node.gpus > 1 &&
                      reader.has("scale_up");
  read(reader,
       {"scale_up_bandwidth", kMinimumBandwidth, kMaximumBandwidth, linked ? "scale_up_bandwidth: 450 GB/s" : ""},
       node.scale_up_bandwidth);
  node.pair_bandwidth = default_pair_bandwidth(node);
  read(reader, {"pair_bandwidth", kMinimumBandwidth, kMaximumBandwidth}, node.pair_bandwidth);
  read(reader, {"scale_up_latency", 0, kMaximumLatency}, node.scale_up_latency);
}

void read_network(MapReader& reader, NodeSpec& node) {
  read(reader, {"nics", 0, kMaximumNics, "nics: 8, or 0 for a machine on its own"}, node.nics);
  const bool networked = reader.has("nics") && node.nics > 0;
  read(reader, {"nic_bandwidth", kMinimumBandwidth, kMaximumBandwidth, networked ? "nic_bandwidth: 400 Gb/s" : ""},
       node.nic_bandwidth);
  read(reader, {"gpus_per_pcie_switch", 1, kMaximumGpus}, node.gpus_per_pcie_switch);
  read(reader, {"numa_domains", 1, 64}, node.numa_domains);
  read(reader, {"host_speed", 0.01, 100}, node.host_speed);
  read(reader, {"pcie_bandwidth", kMinimumBandwidth, kMaximumBandwidth, "pcie_bandwidth: 50 GB/s"},
       node.pcie_bandwidth);
  read(reader, {"pcie_latency", 0, kMaximumLatency}, node.pcie_latency);
}

const std::vector<std::pair<std::string, std::string>> kGenerationWords{
    {"volta", "volta"},         {"ampere", "ampere"}, {"hopper", "hopper"},
    {"blackwell", "blackwell"}, {"cdna", "cdna"},     {"pcie", "pcie"}};

/// collectives: {generation: hopper, launch: 5.3 us, step: 1.3, bandwidth: 1.06, ramp: 80 us}; all four numbers or
/// none.
void read_collectives(MapReader& reader, NodeSpec& node) {
  const std::optional<Value> map = reader.value("collectives");
  if (!map) return;
  MapReader own(*map, reader.diagnostics());
  read_word(own, {"generation"}, kGenerationWords, node.collective_generation);
  const bool measured = own.has("launch") || own.has("step") || own.has("bandwidth") || own.has("ramp");
  hw_models::NodeCorrection correction;
  read(own, {"launch", 0, 0.1, measured ? "launch: 5.3 us" : ""}, correction.launch);
  read(own, {"step", 0, 100, measured ? "step: 1.3" : ""}, correction.step);
  read(own, {"bandwidth", 0.01, 2, measured ? "bandwidth: 1.06" : ""}, correction.bandwidth);
  read(own, {"ramp", 0, 0.1, measured ? "ramp: 80 us" : ""}, correction.ramp);
  own.finish();
  if (measured) node.collectives = correction;
}

/// A name of the catalogue, or the device itself.
void read_gpu(MapReader& reader, NodeSpec& node) {
  const std::optional<Value> gpu = reader.value("gpu");
  if (!reader.has("gpu")) reader.missing("gpu", "write gpu: h100-sxm-80gb");
  if (!gpu) return;
  if (gpu->kind() == Value::Kind::kMap) {
    node.own_gpu = load_gpu(*gpu, node.name + "-device", reader.diagnostics());
    if (node.own_gpu) node.gpu = node.own_gpu->name;
  } else {
    read(reader, "gpu", node.gpu);
  }
}

/// What each figure allows alone but not together.
void check_consistency(MapReader& reader, const NodeSpec& node) {
  Diagnostics& diagnostics = reader.diagnostics();
  if (node.scale_up == ScaleUpKind::kSwitch && node.scale_up_domain % node.gpus != 0) {
    diagnostics.error(
        reader.place("scale_up_domain"),
        fmt::format("'scale_up_domain: {}' is not a multiple of the node's {} GPUs", node.scale_up_domain, node.gpus),
        fmt::format("use {} or {}", node.gpus, (node.scale_up_domain / node.gpus + 1) * node.gpus));
  }
  if (node.scale_up != ScaleUpKind::kSwitch && node.scale_up_domain != node.gpus) {
    diagnostics.error(reader.place("scale_up_domain"), "only 'scale_up: switch' reaches beyond the node",
                      fmt::format("use {} or leave it out", node.gpus));
  }
  if (node.scale_up == ScaleUpKind::kPairs && node.gpus % 2 != 0) {
    diagnostics.error(reader.place("gpus"), fmt::format("{} GPUs cannot be bridged in pairs", node.gpus),
                      "use an even number");
  }
  if (node.scale_up == ScaleUpKind::kLinks && node.gpus > hw_models::kMostLinkedGpus) {
    diagnostics.error(reader.place("gpus"), fmt::format("{} GPUs cannot be joined by single links", node.gpus),
                      fmt::format("use at most {}", hw_models::kMostLinkedGpus));
  }
  if (node.scale_up != ScaleUpKind::kNone && node.scale_up_bandwidth < node.pair_bandwidth) {
    diagnostics.error(reader.place("pair_bandwidth"), "'pair_bandwidth' exceeds 'scale_up_bandwidth'",
                      "scale_up_bandwidth is the sum over all links of one GPU");
  }
}

}  // namespace

std::optional<NodeSpec> load_node(const Value& map, const std::string& name, Diagnostics& diagnostics) {
  const std::size_t errors = error_count(diagnostics);
  MapReader reader(map, diagnostics);
  NodeSpec node;
  node.name = read_notes(reader, name).name;
  read_gpu(reader, node);
  read(reader, {"gpus", 1, kMaximumGpus, "gpus: 8"}, node.gpus);
  read_scale_up(reader, node);
  read_network(reader, node);
  read_collectives(reader, node);
  if (const auto measured = reader.value("measured")) node.measured = read_measured_transfers(*measured, diagnostics);
  read(reader, {"overhead_power", 0, 1e6}, node.overhead_power);
  read(reader, {"usd_per_hour", 0, 1e6}, node.usd_per_hour);
  read(reader, "price_date", node.price_date);
  reader.finish();
  if (error_count(diagnostics) == errors) check_consistency(reader, node);
  return error_count(diagnostics) == errors ? std::optional(node) : std::nullopt;
}

NodeSpec load_node_file(const std::filesystem::path& path) {
  constexpr std::size_t kMaximumBytes = 1 << 20;  // a calibrated machine has 50 KB
  const std::string text = read_bounded_file(path, kMaximumBytes, "a node");
  Diagnostics diagnostics(path.string(), text);
  std::optional<NodeSpec> node;
  if (const std::optional<Value> root = parse_yaml(text, diagnostics)) {
    node = load_node(*root, path.stem().string(), diagnostics);
  }
  if (!node || diagnostics.has_errors()) throw InputError(diagnostics.print());
  return *node;
}

}  // namespace scenarios
