#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "hw_models/cluster_check.h"
#include "scenarios/load/catalog_choice.h"
#include "scenarios/load/catalog_fields.h"
#include "scenarios/load/load_catalog.h"
#include "scenarios/load/sections.h"
#include "scenarios/load/topology_node.h"

namespace scenarios {
namespace {

constexpr std::int64_t kMostNodes = 200'000;
constexpr std::int64_t kMostGpus = 1'000'000;

struct NodeFabric {
  std::string_view node, fabric;
};

// Networks of cloud instances and machines, by their operators' documentation; see also the fabric files.
constexpr std::array<NodeFabric, 14> kKnownFabrics{{{"p3dn.24xlarge", "efa-v1"},
                                                    {"p4d.24xlarge", "efa-v1"},
                                                    {"p4de.24xlarge", "efa-v1"},
                                                    {"g5.48xlarge", "efa-v1"},
                                                    {"p5.48xlarge", "efa-v2"},
                                                    {"p5e.48xlarge", "efa-v2"},
                                                    {"p5en.48xlarge", "efa-v3"},
                                                    {"p6-b200.48xlarge", "efa-v4"},
                                                    {"p6-b300.48xlarge", "efa-v4"},
                                                    {"a3-highgpu-8g", "gcp-tcpx"},
                                                    {"a3-megagpu-8g", "gcp-tcpxo"},
                                                    {"a3-ultragpu-8g", "roce-400g"},
                                                    {"a4-highgpu-8g", "roce-400g"},
                                                    {"frontier", "slingshot-11"}}};

struct RateFabric {
  double gigabits_per_s;  ///< from this rate of a NIC on
  std::string_view fabric;
};

// Boundaries lie between the generations' rates: 25, 100, 200, 400, 800 Gb/s.
constexpr std::array<RateFabric, 6> kFabricsByRate{{{600, "infiniband-xdr"},
                                                    {300, "infiniband-ndr"},
                                                    {150, "infiniband-hdr"},
                                                    {75, "infiniband-edr"},
                                                    {20, "ethernet-25g"},
                                                    {0, "ethernet-10g"}}};

bool is_path(std::string_view text) { return text.find('/') != std::string_view::npos || text.ends_with(".yaml"); }

/// A node in a file of its own, as `trainyard calibrate` writes it.
std::optional<hw_models::NodeSpec> read_node_file(const Value& value, Reading& reading) {
  const std::filesystem::path path = reading.folder / value.text();
  std::error_code problem;
  if (!std::filesystem::is_regular_file(path, problem)) {
    reading.diagnostics.error(
        value.place(), fmt::format("cannot read the node '{}': there is no such file", shortened(value.text(), 100)),
        "a path is relative to the folder of the scenario");
    return std::nullopt;
  }
  try {
    return load_node_file(path);
  } catch (const InputError& defect) {
    reading.other_files += defect.what();
    return std::nullopt;
  }
}

std::optional<hw_models::NodeSpec> read_node(const Value& value, Reading& reading) {
  if (value.kind() == Value::Kind::kScalar && is_path(value.text())) return read_node_file(value, reading);
  if (value.kind() == Value::Kind::kMap && MapReader(value, reading.diagnostics).value("topology")) {
    return read_topology_node(value, reading);
  }
  return read_choice<hw_models::NodeSpec>(value, "nodes", "", &Catalog::node, load_node, reading);
}

std::optional<hw_models::GpuSpec> read_gpu(const std::optional<Value>& value, const hw_models::NodeSpec& node,
                                           Place node_place, Reading& reading) {
  if (value) {
    return read_choice<hw_models::GpuSpec>(*value, "gpus", node.gpu, &Catalog::gpu, load_gpu, reading);
  }
  if (node.own_gpu) return node.own_gpu;
  std::optional<hw_models::GpuSpec> gpu;
  try {
    gpu = reading.catalog.gpu(node.gpu);
    if (!gpu) {
      reading.diagnostics.error(node_place, fmt::format("the node's GPU '{}' is not in the catalogue", node.gpu),
                                "describe it in cluster.gpu");
    }
  } catch (const InputError& problem) {
    reading.other_files += problem.what();
  }
  return gpu;
}

std::optional<hw_models::FabricSpec> read_fabric(const std::optional<Value>& value, const std::string& usual,
                                                 Place node_place, Reading& reading) {
  if (value) {
    return read_choice<hw_models::FabricSpec>(*value, "fabrics", usual, &Catalog::fabric, load_fabric, reading);
  }
  std::optional<hw_models::FabricSpec> fabric;
  try {
    fabric = reading.catalog.fabric(usual);
    if (!fabric) {
      reading.diagnostics.error(node_place, fmt::format("the catalogue has no fabric '{}' for this node", usual),
                                "name one in cluster.fabric");
    }
  } catch (const InputError& problem) {
    reading.other_files += problem.what();
  }
  return fabric;
}

/// From `nodes` or `gpus`, whichever is given. 0 after a finding.
std::int64_t read_nodes(MapReader& reader, hw_models::NodeSpec* node) {
  const auto nodes = reader.integer("nodes", 1, kMostNodes);
  const auto gpus = reader.integer("gpus", 1, kMostGpus);
  Diagnostics& diagnostics = reader.diagnostics();
  if (reader.has("nodes") && reader.has("gpus")) {
    diagnostics.error(reader.place("gpus"), "'nodes' and 'gpus' exclude each other", "keep one");
    return 0;
  }
  if (!reader.has("gpus")) return reader.has("nodes") ? nodes.value_or(0) : 1;
  if (!gpus || node == nullptr) return 0;
  if (*gpus < node->gpus && node->own_gpu && node->scale_up == hw_models::ScaleUpKind::kNone) {
    node->gpus = node->scale_up_domain = static_cast<int>(*gpus);  // some cores of a calibrated machine
    return 1;
  }
  if (*gpus % node->gpus == 0) return *gpus / node->gpus;
  const std::int64_t below = *gpus / node->gpus * node->gpus;
  diagnostics.error(
      reader.place("gpus"), fmt::format("'gpus: {}' is not a multiple of the node's {} GPUs", *gpus, node->gpus),
      below > 0 ? fmt::format("use {} or {}", below, below + node->gpus) : fmt::format("use {}", node->gpus));
  return 0;
}

/// The nodes' prices on demand, when the scenario has none of its own.
void add_catalog_price(const hw_models::ClusterSpec& cluster, PriceSpec& price) {
  if (price.usd_per_node || !price.source.empty()) return;
  double usd_per_hour = 0;
  std::vector<std::string> sources;
  for (std::size_t i = 0; i < cluster.pool_count(); ++i) {
    const hw_models::NodeSpec& node = cluster.node_of_pool(i);
    if (node.usd_per_hour <= 0) return;
    usd_per_hour += node.usd_per_hour * (cluster.mixed() ? cluster.nodes_of_pool(i) : 1);
    sources.push_back(
        fmt::format("catalogue price of {}{}{}", node.name, node.price_date.empty() ? "" : ", ", node.price_date));
  }
  price.usd_per_gpu_hour = usd_per_hour / (cluster.mixed() ? cluster.gpus() : cluster.node.gpus);
  price.source = fmt::format("{}", fmt::join(sources, "; "));
}

void check_cluster(MapReader& reader, const Value& value, const hw_models::ClusterSpec& cluster) {
  Diagnostics& diagnostics = reader.diagnostics();
  if (!cluster.mixed() && std::int64_t{cluster.nodes} * cluster.node.gpus > kMostGpus) {
    diagnostics.error(reader.place("nodes"),
                      fmt::format("the cluster has {} GPUs", std::int64_t{cluster.nodes} * cluster.node.gpus),
                      fmt::format("use at most {} nodes of {}", kMostGpus / cluster.node.gpus, cluster.node.gpus));
    return;
  }
  try {
    hw_models::check(cluster);
  } catch (const std::invalid_argument& problem) {  // "node.nics: what is wrong"
    const std::string text = problem.what();
    const std::size_t colon = text.find(": ");
    const std::string field = colon == std::string::npos ? "" : text.substr(0, colon);
    diagnostics.error(place_of(value, field), colon == std::string::npos ? text : text.substr(colon + 2));
  }
}

/// One entry of a list of nodes.
std::optional<hw_models::NodePool> read_pool(const Value& value, Reading& reading) {
  const std::size_t before = error_count(reading.diagnostics);
  MapReader reader(value, reading.diagnostics);
  std::optional<hw_models::NodeSpec> node;
  if (const auto given = reader.value("node")) node = read_node(*given, reading);
  if (value.kind() == Value::Kind::kMap) {
    if (!reader.has("node")) reader.missing("node", "name a node of the catalogue, e.g. dgx-h100");
    if (!reader.has("count")) reader.missing("count", "how many of these nodes, e.g. 4");
  }
  const auto count = reader.integer("count", 1, kMostNodes);
  const std::optional<Value> gpu_value = reader.value("gpu");
  reader.finish();
  if (!node) return std::nullopt;
  const auto gpu = read_gpu(gpu_value, *node, reader.place("node"), reading);
  if (!gpu || !count || error_count(reading.diagnostics) != before) return std::nullopt;
  node->gpu = gpu->name;
  return hw_models::NodePool{*node, *gpu, static_cast<int>(*count)};
}

/// NCCL joins NVIDIA's GPUs, RCCL AMD's; nothing joins both.
void check_vendors(const std::vector<hw_models::NodePool>& pools, Place place, Diagnostics& diagnostics) {
  const hw_models::GpuSpec& first = pools.front().gpu;
  for (const hw_models::NodePool& pool : pools) {
    if (pool.gpu.vendor.empty() || first.vendor.empty() || pool.gpu.vendor == first.vendor) continue;
    diagnostics.error(place,
                      fmt::format("no collective library joins {} ({}) and {} ({})", first.name, first.vendor,
                                  pool.gpu.name, pool.gpu.vendor),
                      "give every vendor's GPUs a job of their own");
    return;
  }
}

std::optional<std::vector<hw_models::NodePool>> read_pools(const Value& list, Reading& reading) {
  constexpr std::size_t kMostPools = 64;
  const std::size_t before = error_count(reading.diagnostics);
  std::vector<hw_models::NodePool> pools;
  std::int64_t gpus = 0, nodes = 0;
  for (const Value& item : list.items()) {
    const auto pool = read_pool(item, reading);
    if (!pool) continue;
    gpus += std::int64_t{pool->nodes} * pool->node.gpus;
    nodes += pool->nodes;
    pools.push_back(*pool);
  }
  Diagnostics& diagnostics = reading.diagnostics;
  if (list.items().empty() || list.items().size() > kMostPools) {
    diagnostics.error(list.place(), fmt::format("'nodes' lists {} kinds of nodes", list.items().size()),
                      fmt::format("write 1 to {}: nodes: [{{node: dgx-h100, count: 4}}]", kMostPools));
  }
  if (gpus > kMostGpus || nodes > kMostNodes) {
    diagnostics.error(list.place(), fmt::format("the cluster has {} GPUs in {} nodes", gpus, nodes),
                      fmt::format("use at most {} GPUs and {} nodes", kMostGpus, kMostNodes));
  }
  if (!pools.empty()) check_vendors(pools, list.place(), diagnostics);
  if (error_count(diagnostics) != before || !reading.other_files.empty()) return std::nullopt;
  return pools;
}

/// The usual network of all nodes; nullopt after a finding: they have different ones, and the scenario names none.
std::optional<std::string> usual_of_all(const std::vector<hw_models::NodePool>& pools,
                                        const std::optional<Value>& given, Place place, Diagnostics& diagnostics) {
  std::string different;
  for (const hw_models::NodePool& pool : pools) {
    if (usual_fabric(pool.node) == usual_fabric(pools.front().node)) continue;
    different = fmt::format("{} usually has {}, {} {}", pools.front().node.name, usual_fabric(pools.front().node),
                            pool.node.name, usual_fabric(pool.node));
  }
  if (different.empty()) return usual_fabric(pools.front().node);
  const bool complete = given && (given->kind() != Value::Kind::kMap || MapReader(*given, diagnostics).has("base"));
  if (complete) return "";
  diagnostics.error(given ? given->place() : place, "the nodes differ in their usual network: " + different,
                    fmt::format("name the one that joins them: fabric: {}{}{}", given ? "{base: " : "",
                                usual_fabric(pools.front().node), given ? ", ...}" : ""));
  return std::nullopt;
}

/// `cluster.nodes` is a list.
std::optional<ClusterSection> read_mixed(MapReader& reader, const Value& value, const Value& list, Reading& reading) {
  Diagnostics& diagnostics = reading.diagnostics;
  const std::size_t before = error_count(diagnostics);
  for (const std::string_view key : {"node", "gpu", "gpus"}) {
    if (!reader.value(key)) continue;
    diagnostics.error(reader.place(key), fmt::format("'{}' has no meaning beside a list of nodes", key),
                      key == "gpus" ? "change the counts in the list"
                                    : fmt::format("write it in the list: nodes: [{{{}: ..., count: 4}}]",
                                                  key == "node" ? "node" : "node: dgx-h100, gpu"));
  }
  ClusterSection section;
  const auto pools = read_pools(list, reading);
  const std::optional<Value> fabric_value = reader.value("fabric");
  if (const auto price = reader.value("price")) section.price = read_price(*price, reading).value_or(PriceSpec{});
  reader.finish();
  if (!pools) return std::nullopt;
  const auto usual = usual_of_all(*pools, fabric_value, list.place(), diagnostics);
  if (!usual) return std::nullopt;
  const auto fabric = read_fabric(fabric_value, *usual, list.place(), reading);
  if (!fabric || error_count(diagnostics) != before) return std::nullopt;
  section.cluster = hw_models::mixed_cluster(*pools, *fabric);
  section.gpu = pools->front().gpu;
  add_catalog_price(section.cluster, section.price);
  check_cluster(reader, value, section.cluster);
  return error_count(diagnostics) == before ? std::optional(section) : std::nullopt;
}

}  // namespace

std::string usual_fabric(const hw_models::NodeSpec& node) {
  if (node.nics == 0) return "none";
  for (const NodeFabric& known : kKnownFabrics) {
    if (known.node == node.name) return std::string(known.fabric);
  }
  const double gigabits = node.nic_bandwidth.value() * 8 / 1e9;
  for (const RateFabric& candidate : kFabricsByRate) {
    if (gigabits >= candidate.gigabits_per_s) return std::string(candidate.fabric);
  }
  return "none";
}

std::optional<ClusterSection> read_cluster(const Value& value, Reading& reading) {
  const std::size_t before = error_count(reading.diagnostics);
  MapReader reader(value, reading.diagnostics);
  if (const auto nodes = reader.value("nodes"); nodes && nodes->kind() == Value::Kind::kList) {
    return read_mixed(reader, value, *nodes, reading);
  }
  ClusterSection section;
  std::optional<hw_models::NodeSpec> node;
  if (const auto given = reader.value("node")) node = read_node(*given, reading);
  if (!reader.has("node")) reader.missing("node", "name a node of the catalogue, e.g. dgx-h100");
  const std::int64_t nodes = read_nodes(reader, node ? &*node : nullptr);
  const std::optional<Value> gpu_value = reader.value("gpu");
  const std::optional<Value> fabric_value = reader.value("fabric");
  if (const auto price = reader.value("price")) section.price = read_price(*price, reading).value_or(PriceSpec{});
  reader.finish();
  if (!node) return std::nullopt;
  const auto gpu = read_gpu(gpu_value, *node, reader.place("node"), reading);
  const auto fabric = read_fabric(fabric_value, usual_fabric(*node), reader.place("node"), reading);
  if (!gpu || !fabric || nodes == 0) return std::nullopt;
  node->gpu = gpu->name;
  section.cluster = {*node, static_cast<int>(nodes), *fabric};
  section.gpu = *gpu;
  add_catalog_price(section.cluster, section.price);
  check_cluster(reader, value, section.cluster);
  return error_count(reading.diagnostics) == before ? std::optional(section) : std::nullopt;
}

}  // namespace scenarios
