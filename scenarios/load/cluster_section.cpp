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

std::optional<hw_models::FabricSpec> read_fabric(const std::optional<Value>& value, const hw_models::NodeSpec& node,
                                                 Place node_place, Reading& reading) {
  const std::string usual = usual_fabric(node);
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

/// The node's price on demand, when the scenario has none of its own.
void add_catalog_price(const hw_models::NodeSpec& node, PriceSpec& price) {
  if (price.usd_per_node || !price.source.empty() || node.usd_per_hour <= 0) return;
  price.usd_per_gpu_hour = node.usd_per_hour / node.gpus;
  price.source =
      fmt::format("catalogue price of {}{}{}", node.name, node.price_date.empty() ? "" : ", ", node.price_date);
}

void check_cluster(MapReader& reader, const Value& value, const hw_models::ClusterSpec& cluster) {
  Diagnostics& diagnostics = reader.diagnostics();
  if (std::int64_t{cluster.nodes} * cluster.node.gpus > kMostGpus) {
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
  const auto fabric = read_fabric(fabric_value, *node, reader.place("node"), reading);
  if (!gpu || !fabric || nodes == 0) return std::nullopt;
  node->gpu = gpu->name;
  section.cluster = {*node, static_cast<int>(nodes), *fabric};
  section.gpu = *gpu;
  add_catalog_price(*node, section.price);
  check_cluster(reader, value, section.cluster);
  return error_count(reading.diagnostics) == before ? std::optional(section) : std::nullopt;
}

}  // namespace scenarios
