#include "sim/cluster_links.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

#include "hw_models/cluster_numbering.h"
#include "hw_models/payload_rate.h"

namespace sim {
namespace {

using hw_models::BytesPerSecond;
using hw_models::Cluster;
using hw_models::Link;
using hw_models::LinkClass;

/// By device: how many NICs the NIC stands for, and the leaf of its rail.
std::vector<double> trunks(const Cluster& cluster) {
  const hw_models::ClusterNumbering number(cluster.spec());
  std::vector<double> result(cluster.devices(), 1);
  const auto widen = [&](hw_models::DeviceId device, double cables) {
    result[device.value] = std::max(result[device.value], cables);
  };
  for (int gpu = 0; gpu < cluster.gpus(); ++gpu) {
    const hw_models::NicSet own = cluster.nics_of(gpu);
    if (own.size() == 0) continue;
    const int at = cluster.node_of(gpu);
    widen(number.nic(at, own.first()), own.size());
    if (number.leaves_per_unit > 1) widen(number.leaf(number.leaf_of_nic(at, own.first())), own.size());
  }
  return result;
}

BytesPerSecond payload(const Link& link, double efficiency) {
  const bool fabric = link.kind == LinkClass::kNicPort || link.kind == LinkClass::kUplink;
  return fabric ? link.bandwidth * efficiency : hw_models::payload_rate(link);
}

/// The first links of the route from `from_gpu`, up to and with the first of class `last`, or all without such a link.
LinkPath follow(const Cluster& cluster, int from_gpu, int to_gpu, const LinkClass* last) {
  LinkPath path;
  hw_models::DeviceId at = cluster.gpu(from_gpu);
  hw_models::Seconds latency{};
  for (const hw_models::LinkId id : cluster.route(from_gpu, to_gpu)) {
    const Link& link = cluster.link(id);
    path.uses.push_back({2 * id.value + (link.a == at ? 0U : 1U), 1});
    at = link.a == at ? link.b : link.a;
    latency += link.latency;
    if (last != nullptr && link.kind == *last) break;
  }
  path.latency_ns = std::llround(latency.value() * 1e9);
  return path;
}

const Link& last_link(const Cluster& cluster, const LinkPath& path) {
  return cluster.link({path.uses.back().link / 2});
}

}  // namespace

std::vector<BytesPerSecond> cluster_links(const Cluster& cluster) {
  const std::vector<double> trunk = trunks(cluster);
  std::vector<BytesPerSecond> capacities;
  capacities.reserve(2 * cluster.links());
  for (std::uint32_t i = 0; i < cluster.links(); ++i) {
    const Link& link = cluster.link({i});
    const double cables = std::max(trunk[link.a.value], trunk[link.b.value]);
    capacities.insert(capacities.end(), 2, payload(link, cluster.spec().fabric.efficiency) * cables);
  }
  return capacities;
}

LinkPath path_between(const Cluster& cluster, int from_gpu, int to_gpu) {
  return follow(cluster, from_gpu, to_gpu, nullptr);
}

LinkPath path_to_switch(const Cluster& cluster, int gpu, int mate) {
  const LinkClass scale_up = LinkClass::kScaleUp;
  LinkPath path = follow(cluster, gpu, mate, &scale_up);
  if (path.uses.size() != 1 || cluster.kind(last_link(cluster, path).b) != hw_models::DeviceKind::kScaleUpSwitch) {
    throw std::invalid_argument("no scale-up switch between " + cluster.name(cluster.gpu(gpu)) + " and " +
                                cluster.name(cluster.gpu(mate)));
  }
  return path;
}

LinkPath path_to_fabric(const Cluster& cluster, int gpu, int far_gpu) {
  const LinkClass port = LinkClass::kNicPort;
  LinkPath path = follow(cluster, gpu, far_gpu, &port);
  if (path.uses.empty() || last_link(cluster, path).kind != port) {
    throw std::invalid_argument("no NIC between " + cluster.name(cluster.gpu(gpu)) + " and " +
                                cluster.name(cluster.gpu(far_gpu)));
  }
  return path;
}

LinkPath reversed(const LinkPath& path) {
  LinkPath back = path;
  std::ranges::reverse(back.uses);
  for (LinkUse& use : back.uses) use.link ^= 1U;
  return back;
}

}  // namespace sim
