#include "hw_models/cluster.h"

#include <algorithm>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <boost/property_map/property_map.hpp>
#include <limits>
#include <stdexcept>
#include <utility>

#include "hw_models/cluster_check.h"
#include "hw_models/cluster_numbering.h"
#include "hw_models/nic_assignment.h"
#include "hw_models/pair_links.h"

namespace hw_models {
namespace {

struct Cable {
  std::uint32_t link = 0;
};
/// Every link is two directed edges, so that a search needs no reverse adjacency.
using Csr = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, Cable, boost::no_property,
                                               std::uint32_t, std::uint32_t>;
constexpr std::uint32_t kNoLink = std::numeric_limits<std::uint32_t>::max();

/// Lists all links in a fixed order: first one uplink per leaf, then one per spine, then node by node.
class LinkList {
 public:
  LinkList(const ClusterSpec& spec, const ClusterNumbering& number) : spec_(spec), number_(number) {
    add_uplinks();
    for (int node = 0; node < number.nodes; ++node) add_node(node);
  }
  std::vector<Link> take() { return std::move(links_); }

 private:
  void add(DeviceId a, DeviceId b, LinkClass kind, BytesPerSecond bandwidth, Seconds latency) {
    links_.push_back(Link{a, b, kind, bandwidth, latency});
  }

  // Uplink capacity of a leaf = capacity of its downlinks / oversubscription, of a pod's spines = that of its leaves /
  // their oversubscription. Each uplink adds one switch to a route that already counts one switch on its two NIC ports.
  void add_uplinks() {
    if (number_.spines == 0) return;
    std::vector<BytesPerSecond> pods(static_cast<std::size_t>(number_.spines));
    for (int leaf = 0; leaf < number_.leaves; ++leaf) {
      const BytesPerSecond uplinks = uplinks_of(leaf);
      const int pod = number_.pod_of_leaf(leaf);
      const double left = intact(spec_.thin_link, ThinLink::At::kLeaf, leaf);  // of the first plane
      add(number_.leaf(leaf), number_.spine(pod), LinkClass::kUplink, uplinks * (1 - (1 - left) / spec_.fabric.planes),
          spec_.fabric.switch_latency);
      pods[static_cast<std::size_t>(pod)] += uplinks;
    }
    if (number_.cores == 0) return;
    for (int pod = 0; pod < number_.spines; ++pod) {
      add(number_.spine(pod), number_.core(), LinkClass::kUplink,
          pods[static_cast<std::size_t>(pod)] / spec_.fabric.spine_oversubscription, spec_.fabric.switch_latency);
    }
  }

  /// Pool by pool, from the NICs of its nodes in the leaf's unit.
  BytesPerSecond uplinks_of(int leaf) const {
    const int first = leaf / number_.leaves_per_unit * number_.nodes_per_unit;
    const int end = std::min(first + number_.nodes_per_unit, number_.nodes);
    BytesPerSecond sum{};
    for (std::size_t i = 0; i < number_.pools(); ++i) {
      const PoolNumbering& pool = number_.pool(i);
      const int nodes = std::min(end, pool.first_node + pool.nodes) - std::max(first, pool.first_node);
      if (nodes <= 0) continue;
      const bool rails = number_.leaves_per_unit > 1;
      const int nics = !rails ? pool.nics : leaf % number_.leaves_per_unit < pool.nics ? 1 : 0;
      const double downlinks = static_cast<double>(nodes) * nics;
      sum += spec_.node_of_pool(i).nic_bandwidth * (downlinks / spec_.fabric.oversubscription);
    }
    return sum;
  }

  void add_node(int node) {
    const NodeSpec& spec = spec_.node_of_pool(number_.pool_of_node(node));
    add_scale_up(node, spec);
    add_pcie(node, spec);
    if (number_.leaves == 0) return;
    const Seconds port_latency = (spec_.fabric.endpoint_latency + spec_.fabric.switch_latency) / 2;
    const double left = intact(spec_.thin_link, ThinLink::At::kNode, node);
    for (int nic = 0; nic < spec.nics; ++nic) {
      add(number_.nic(node, nic), number_.leaf(number_.leaf_of_nic(node, nic)), LinkClass::kNicPort,
          spec.nic_bandwidth * left, port_latency);
    }
  }

  void add_scale_up(int node, const NodeSpec& n) {
    const bool switches = number_.of_node(node).scale_up_switches > 0;
    const int first_gpu = number_.first_gpu(node);
    const auto join = [&](int a, int b, BytesPerSecond bandwidth) {
      add(number_.gpu(node, a), number_.gpu(node, b), LinkClass::kScaleUp, bandwidth, n.scale_up_latency);
    };
    if (n.scale_up == ScaleUpKind::kLinks) {
      for (const PairLink& pair : n.links) join(pair.a, pair.b, pair.bandwidth);
    }
    for (int a = 0; a < n.gpus; ++a) {
      if (switches) {
        add(number_.gpu(node, a), number_.scale_up_switch_of(first_gpu + a), LinkClass::kScaleUp, n.scale_up_bandwidth,
            n.scale_up_latency / 2);
      }
      if (n.scale_up == ScaleUpKind::kPairs && a % 2 == 0) join(a, a + 1, n.pair_bandwidth);
      if (n.scale_up != ScaleUpKind::kMesh) continue;
      for (int b = a + 1; b < n.gpus; ++b) join(a, b, n.pair_bandwidth);
    }
  }

  void add_pcie(int node, const NodeSpec& n) {
    const PoolNumbering& pool = number_.of_node(node);
    const auto join = [&](DeviceId device, DeviceId towards) {
      add(device, towards, LinkClass::kPcie, n.pcie_bandwidth, n.pcie_latency);
    };
    for (int gpu = 0; gpu < pool.gpus; ++gpu) {
      join(number_.gpu(node, gpu), number_.pcie_switch(node, pool.switch_of_gpu(gpu)));
    }
    for (int nic = 0; nic < pool.nics; ++nic) {
      join(number_.nic(node, nic), number_.pcie_switch(node, pool.switch_of_nic(nic)));
    }
    for (int pcie = 0; pcie < pool.pcie_switches; ++pcie) {
      join(number_.pcie_switch(node, pcie), number_.host(node, pool.host_of_switch(pcie)));
    }
    for (int a = 0; a < pool.hosts; ++a) {
      for (int b = a + 1; b < pool.hosts; ++b) {
        add(number_.host(node, a), number_.host(node, b), LinkClass::kHostBridge, host_link_bandwidth(n),
            n.pcie_latency);
      }
    }
  }

  const ClusterSpec& spec_;
  const ClusterNumbering& number_;
  std::vector<Link> links_;
};

Csr make_graph(const std::vector<Link>& links, std::uint32_t devices) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  std::vector<Cable> cables;
  edges.reserve(2 * links.size());
  cables.reserve(2 * links.size());
  for (std::uint32_t i = 0; i < links.size(); ++i) {
    edges.emplace_back(links[i].a.value, links[i].b.value);
    edges.emplace_back(links[i].b.value, links[i].a.value);
    cables.insert(cables.end(), 2, Cable{i});
  }
  return Csr(boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(), cables.begin(), devices);
}

/// Keeps the PCIe trees: no link of theirs leaves a node.
struct InsideNodes {
  const Csr* graph = nullptr;
  const std::vector<Link>* links = nullptr;
  bool operator()(const Csr::edge_descriptor& edge) const {
    const LinkClass kind = (*links)[(*graph)[edge].link].kind;
    return kind == LinkClass::kPcie || kind == LinkClass::kHostBridge;
  }
};

}  // namespace

struct Cluster::Graph {
  explicit Graph(const ClusterSpec& cluster_spec)
      : spec(cluster_spec),
        number(cluster_spec),
        nics(spec, number),
        links(LinkList(spec, number).take()),
        csr(make_graph(links, number.devices())) {
    for (std::size_t i = 0; i < number.pools(); ++i) {
      std::vector<std::vector<std::uint32_t>>& of_pool = towards_gpu.emplace_back();
      for (int local = 0; local < number.pool(i).gpus; ++local) of_pool.push_back(search_from(number.pool(i), local));
    }
  }

  /// Breadth-first over the PCIe tree of a pool's first node from one of its GPUs: for every device of the node the
  /// next one towards that GPU.
  std::vector<std::uint32_t> search_from(const PoolNumbering& pool, int local) const {
    using boost::make_iterator_property_map;
    std::vector<std::uint32_t> next(pool.devices_per_node(), kNoLink);
    std::vector<boost::default_color_type> color(next.size(), boost::white_color);
    const boost::filtered_graph<Csr, InsideNodes> trees(csr, InsideNodes{&csr, &links});
    const auto index = boost::make_function_property_map<std::uint32_t>(
        [first = pool.first_device](std::uint32_t device) { return device - first; });
    boost::queue<std::uint32_t> queue;
    const auto recorder =
        boost::record_predecessors(make_iterator_property_map(next.begin(), index), boost::on_tree_edge());
    boost::breadth_first_visit(trees, number.gpu(pool.first_node, local).value, queue,
                               boost::make_bfs_visitor(recorder), make_iterator_property_map(color.begin(), index));
    for (std::uint32_t& device : next) device -= device == kNoLink ? 0 : pool.first_device;
    return next;
  }

  LinkId between(DeviceId a, DeviceId b) const {
    const auto [edge, found] = boost::edge(a.value, b.value, csr);
    if (!found) throw std::logic_error("no link between " + number.name(a) + " and " + number.name(b));
    return LinkId{csr[edge].link};
  }

  /// From any device of `node` down to one of the node's GPUs, over PCIe. All nodes of a pool are copies.
  void append_to_gpu(int node, DeviceId from, int local_gpu, std::vector<LinkId>& route) const {
    const std::uint32_t base = number.gpu(node, 0).value;
    const std::vector<std::uint32_t>& next =
        towards_gpu[number.pool_of_node(node)][static_cast<std::size_t>(local_gpu)];
    for (std::uint32_t at = from.value - base; next[at] != kNoLink; at = next[at]) {
      route.push_back(between(DeviceId{base + at}, DeviceId{base + next[at]}));
    }
  }

  void append_through_fabric(DeviceId from_nic, int from_leaf, DeviceId to_nic, int to_leaf,
                             std::vector<LinkId>& route) const {
    route.push_back(between(from_nic, number.leaf(from_leaf)));
    if (from_leaf != to_leaf) {
      // A leaf's uplink is the first of its links: the search in its row ends at once. A core's has one link per pod.
      const int from_pod = number.pod_of_leaf(from_leaf), to_pod = number.pod_of_leaf(to_leaf);
      route.push_back(between(number.leaf(from_leaf), number.spine(from_pod)));
      if (from_pod != to_pod) {
        route.push_back(between(number.core(), number.spine(from_pod)));
        route.push_back(between(number.core(), number.spine(to_pod)));
      }
      route.push_back(between(number.leaf(to_leaf), number.spine(to_pod)));
    }
    route.push_back(between(to_nic, number.leaf(to_leaf)));
  }

  bool joined_by_scale_up(int from, int to) const {
    const NodeSpec& node = spec.node_of_pool(number.pool_of_gpu(from));
    const int a = number.local_of(from), b = number.local_of(to);
    switch (node.scale_up) {
      case ScaleUpKind::kSwitch:
        return number.domain_of(from) == number.domain_of(to);
      case ScaleUpKind::kMesh:
        return number.node_of(from) == number.node_of(to);
      case ScaleUpKind::kPairs:
        return number.node_of(from) == number.node_of(to) && a / 2 == b / 2;
      case ScaleUpKind::kLinks:
        return number.node_of(from) == number.node_of(to) && link_between(node, a, b) != nullptr;
      case ScaleUpKind::kNone:
        break;
    }
    return false;
  }

  ClusterSpec spec;
  ClusterNumbering number;
  NicAssignment nics;
  std::vector<Link> links;
  Csr csr;
  // [pool][local GPU][local device] -> next local device
  std::vector<std::vector<std::vector<std::uint32_t>>> towards_gpu;
};

Cluster::Cluster(const ClusterSpec& spec) {
  check(spec);
  graph_ = std::make_unique<Graph>(spec);
}
Cluster::~Cluster() = default;
Cluster::Cluster(Cluster&&) noexcept = default;

const ClusterSpec& Cluster::spec() const { return graph_->spec; }
int Cluster::gpus() const { return graph_->number.gpus; }
int Cluster::node_of(int gpu) const { return graph_->number.node_of(gpu); }
int Cluster::pool_of(int gpu) const { return static_cast<int>(graph_->number.pool_of_gpu(gpu)); }
int Cluster::local_of(int gpu) const { return graph_->number.local_of(gpu); }
int Cluster::domain_of(int gpu) const { return graph_->number.domain_of(gpu); }
int Cluster::nic_stride() const { return graph_->number.nics; }

DeviceId Cluster::gpu(int gpu) const { return graph_->number.gpu(node_of(gpu), local_of(gpu)); }
DeviceKind Cluster::kind(DeviceId device) const { return graph_->number.kind(device); }
std::string Cluster::name(DeviceId device) const { return graph_->number.name(device); }
std::size_t Cluster::devices() const { return boost::num_vertices(graph_->csr); }
std::size_t Cluster::links() const { return graph_->links.size(); }
const Link& Cluster::link(LinkId link) const { return graph_->links.at(link.value); }

NicSet Cluster::nics_of(int gpu) const { return graph_->nics.of(gpu); }

int Cluster::nic_of(int gpu) const {
  if (node_spec(gpu).nics == 0) return -1;
  return node_of(gpu) * nic_stride() + nics_of(gpu).first();
}

std::vector<LinkId> Cluster::route(int from_gpu, int to_gpu) const {
  if (from_gpu < 0 || to_gpu < 0 || from_gpu >= gpus() || to_gpu >= gpus()) {
    throw std::out_of_range("no such GPU in the cluster");
  }
  std::vector<LinkId> route;
  if (from_gpu == to_gpu) return route;
  const Graph& g = *graph_;
  const NodeSpec& node = node_spec(from_gpu);
  if (g.joined_by_scale_up(from_gpu, to_gpu)) {
    if (node.scale_up != ScaleUpKind::kSwitch) return {g.between(gpu(from_gpu), gpu(to_gpu))};
    const DeviceId crossbar = g.number.scale_up_switch_of(from_gpu);
    return {g.between(gpu(from_gpu), crossbar), g.between(gpu(to_gpu), crossbar)};
  }
  const int from_node = node_of(from_gpu);
  const int to_node = node_of(to_gpu);
  const int from_local = local_of(from_gpu);
  const int to_local = local_of(to_gpu);
  if (from_node == to_node) {
    const bool linked = node.scale_up == ScaleUpKind::kLinks;
    if (const int relay = linked ? relay_between(node, from_local, to_local) : -1; relay >= 0) {
      const DeviceId through = g.number.gpu(from_node, relay);
      return {g.between(gpu(from_gpu), through), g.between(through, gpu(to_gpu))};
    }
    g.append_to_gpu(to_node, gpu(from_gpu), to_local, route);
    return route;
  }
  const int from_nic = nics_of(from_gpu).first();
  const int to_nic = nics_of(to_gpu).first();
  g.append_to_gpu(from_node, g.number.nic(from_node, from_nic), from_local, route);
  std::reverse(route.begin(), route.end());
  g.append_through_fabric(g.number.nic(from_node, from_nic), g.number.leaf_of_nic(from_node, from_nic),
                          g.number.nic(to_node, to_nic), g.number.leaf_of_nic(to_node, to_nic), route);
  g.append_to_gpu(to_node, g.number.nic(to_node, to_nic), to_local, route);
  return route;
}

const char* name(DeviceKind kind) {
  static constexpr const char* kNames[] = {"gpu",  "scale-up switch", "pcie switch", "host bridge", "nic",
                                           "leaf", "spine",           "core"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* name(LinkClass kind) {
  static constexpr const char* kNames[] = {"scale-up", "pcie", "host bridge", "nic port", "uplink"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace hw_models
