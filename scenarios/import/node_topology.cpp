#include "scenarios/import/node_topology.h"

#include <algorithm>

namespace scenarios {
namespace {

/// `device` and its ancestors, the root last.
std::vector<int> lineage(const NodeTopology& topology, int device) {
  std::vector<int> line;
  for (int at = device; at >= 0; at = topology.at(at).parent) line.push_back(at);
  return line;
}

bool linked(const NodeTopology& topology, int a, int b) {
  bool a_switched = false, b_switched = false;
  for (const ScaleUpLink& link : topology.scale_up) {
    if ((link.a == a && link.b == b) || (link.a == b && link.b == a)) return true;
    if (link.b != ScaleUpLink::kSwitches) continue;
    a_switched |= link.a == a;
    b_switched |= link.a == b;
  }
  return a_switched && b_switched;
}

}  // namespace

const char* name(TopologyKind kind) {
  static constexpr const char* kNames[] = {"CPU", "host bridge", "PCIe switch", "GPU", "NIC", "device"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* name(PathClass path) {
  static constexpr const char* kNames[] = {"X", "NV", "PIX", "PXB", "PHB", "NODE", "SYS"};
  return kNames[static_cast<std::size_t>(path)];
}

std::vector<int> NodeTopology::all(TopologyKind kind) const {
  std::vector<int> found;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].kind == kind) found.push_back(static_cast<int>(i));
  }
  return found;
}

std::vector<int> NodeTopology::children(int parent) const {
  std::vector<int> found;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].parent == parent) found.push_back(static_cast<int>(i));
  }
  return found;
}

PathClass NodeTopology::path(int a, int b) const {
  if (a == b) return PathClass::kSelf;
  return linked(*this, a, b) ? PathClass::kScaleUp : pcie_path(a, b);
}

PathClass NodeTopology::pcie_path(int a, int b) const {
  if (a == b) return PathClass::kSelf;
  const std::vector<int> up = lineage(*this, a);
  const std::vector<int> down = lineage(*this, b);
  const auto meet = std::ranges::find_if(up, [&](int at) { return std::ranges::count(down, at) > 0; });
  if (meet == up.end()) return PathClass::kSys;
  const TopologyKind kind = at(*meet).kind;
  if (kind == TopologyKind::kHostBridge) return PathClass::kPhb;
  const auto bridges = [&](const std::vector<int>& line) {
    return std::any_of(line.begin(), std::ranges::find(line, *meet),
                       [&](int at) { return devices[static_cast<std::size_t>(at)].kind == TopologyKind::kHostBridge; });
  };
  if (kind == TopologyKind::kCpu) return bridges(up) || bridges(down) ? PathClass::kNode : PathClass::kPhb;
  // A device may hang directly on the other (up or down is empty then); else they meet in a switch.
  const auto steps = (meet - up.begin()) + (std::ranges::find(down, *meet) - down.begin());
  return steps <= 2 ? PathClass::kPix : PathClass::kPxb;
}

std::vector<int> NodeTopology::nearest_nics(int gpu) const {
  std::vector<int> nearest;
  PathClass best = PathClass::kSys;
  for (const int nic : all(TopologyKind::kNic)) {
    const PathClass distance = pcie_path(gpu, nic);
    if (distance < best) nearest.clear();
    best = std::min(best, distance);
    if (distance == best) nearest.push_back(nic);
  }
  return nearest;
}

}  // namespace scenarios
