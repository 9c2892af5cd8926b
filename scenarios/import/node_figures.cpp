#include "scenarios/import/node_figures.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>

namespace scenarios {
namespace {

using hw_models::BytesPerSecond;
using hw_models::ScaleUpKind;

/// The number in "GPU3"; GPUs without one come last.
int number_of(const TopologyDevice& gpu) {
  int number = 0;
  const std::string& name = gpu.name;
  const bool numbered =
      name.starts_with("GPU") && std::from_chars(name.data() + 3, name.data() + name.size(), number).ec == std::errc();
  return numbered ? number : std::numeric_limits<int>::max();
}

std::vector<int> gpus_in_order(const NodeTopology& topology) {
  std::vector<int> gpus = topology.all(TopologyKind::kGpu);
  std::ranges::stable_sort(gpus, {}, [&](int gpu) { return number_of(topology.at(gpu)); });
  return gpus;
}

int position(const std::vector<int>& list, int value) {
  return static_cast<int>(std::ranges::find(list, value) - list.begin());
}

/// The nearest NICs; of several kinds the fastest, where all rates are known.
std::vector<int> used_nics(const NodeTopology& topology, int gpu) {
  std::vector<int> nics = topology.nearest_nics(gpu);
  BytesPerSecond fastest{};
  for (const int nic : nics) {
    if (!topology.at(nic).rate) return nics;
    fastest = std::max(fastest, *topology.at(nic).rate);
  }
  std::erase_if(nics, [&](int nic) { return *topology.at(nic).rate < fastest; });
  return nics;
}

/// The outermost switch above a device, or the device itself: a slot of its own.
int outermost_switch(const NodeTopology& topology, int device) {
  int outermost = device;
  for (int at = topology.at(device).parent; at >= 0; at = topology.at(at).parent) {
    if (topology.at(at).kind == TopologyKind::kPcieSwitch) outermost = at;
  }
  return outermost;
}

/// -1: none is known.
int cpu_above(const NodeTopology& topology, int device) {
  int at = device;
  while (at >= 0 && topology.at(at).kind != TopologyKind::kCpu) at = topology.at(at).parent;
  return at;
}

/// Numbers things in the order in which they are met.
class Numbers {
 public:
  int of(int thing) { return numbers_.try_emplace(thing, static_cast<int>(numbers_.size())).first->second; }
  int size() const { return static_cast<int>(numbers_.size()); }

 private:
  std::map<int, int> numbers_;
};

class Conversion {
 public:
  explicit Conversion(const NodeTopology& topology) : topology_(topology), gpus_(gpus_in_order(topology)) {}

  NodeFigures run() {
    figures_.gpus = static_cast<int>(gpus_.size());
    add_model();
    choose_nics();
    add_affinity();
    add_tree();
    add_rates();
    add_scale_up();
    return std::move(figures_);
  }

 private:
  void add_model() {
    std::set<std::string> models;
    for (const int gpu : gpus_) models.insert(topology_.at(gpu).model);
    if (models.size() == 1) figures_.gpu = *models.begin();
  }

  void choose_nics() {
    std::set<int> used;
    for (const int gpu : gpus_) {
      nearest_.push_back(used_nics(topology_, gpu));
      used.insert(nearest_.back().begin(), nearest_.back().end());
    }
    nics_.assign(used.begin(), used.end());
    figures_.nics = static_cast<int>(nics_.size());
  }

  /// GPUs that are equally near to the same NICs share them evenly, in order; so does NCCL (ncclTopoGetLocalNet).
  void add_affinity() {
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      const std::vector<int>& nics = nearest_[gpu];
      const auto sharers = static_cast<std::size_t>(std::ranges::count(nearest_, nics));
      const auto turn = static_cast<std::size_t>(
          std::count(nearest_.begin(), nearest_.begin() + static_cast<std::ptrdiff_t>(gpu), nics));
      const std::size_t first = turn * nics.size() / sharers;
      const std::size_t last = nics.empty() ? 0 : std::max(first + 1, (turn + 1) * nics.size() / sharers);
      std::vector<int>& own = figures_.wiring.nics_of_gpu.emplace_back();
      for (std::size_t i = first; i < last; ++i) own.push_back(position(nics_, nics[i]));
    }
  }

  void add_tree() {
    Numbers switches, cpus;
    const auto hang = [&](int device, std::vector<int>& switch_of) {
      const int known = switches.size();
      const int number = switches.of(outermost_switch(topology_, device));
      switch_of.push_back(number);
      if (number == known) figures_.wiring.host_of_switch.push_back(cpus.of(cpu_above(topology_, device)));
    };
    for (const int gpu : gpus_) hang(gpu, figures_.wiring.switch_of_gpu);
    for (const int nic : nics_) hang(nic, figures_.wiring.switch_of_nic);
    figures_.numa_domains = std::max(1, cpus.size());
  }

  void add_rates() {
    const auto narrow = [](std::optional<BytesPerSecond>& least, const std::optional<BytesPerSecond>& rate) {
      if (rate) least = least ? std::min(*least, *rate) : *rate;
    };
    for (const int gpu : gpus_) {  // to the outermost switch: behind it others share
      const int end = outermost_switch(topology_, gpu);
      int at = gpu;
      do {
        narrow(figures_.pcie_bandwidth, topology_.at(at).uplink);
        at = topology_.at(at).parent;
      } while (at >= 0 && at != end && end != gpu);
    }
    const bool known = std::ranges::all_of(nics_, [&](int nic) { return topology_.at(nic).rate.has_value(); });
    for (const int nic : nics_) {
      if (known) narrow(figures_.nic_bandwidth, topology_.at(nic).rate);
    }
  }

  void add_scale_up() {
    for (const ScaleUpLink& link : topology_.scale_up) {
      const int b = link.b == ScaleUpLink::kSwitches ? link.b : position(gpus_, link.b);
      figures_.joints.push_back({position(gpus_, link.a), b, link.lanes, link.bandwidth});
    }
    figures_.scale_up = kind();
  }

  std::optional<ScaleUpKind> kind() const {
    const std::vector<NodeFigures::Joint>& joints = figures_.joints;
    if (joints.empty()) return topology_.shows_scale_up ? std::optional(ScaleUpKind::kNone) : std::nullopt;
    const auto switched = static_cast<std::size_t>(
        std::ranges::count(joints, static_cast<int>(ScaleUpLink::kSwitches), &NodeFigures::Joint::b));
    if (switched > 0) return switched == gpus_.size() ? std::optional(ScaleUpKind::kSwitch) : std::nullopt;
    const bool equal = std::ranges::all_of(
        joints, [&](const NodeFigures::Joint& joint) { return joint.lanes == joints.front().lanes; });
    if (equal && joints.size() == gpus_.size() * (gpus_.size() - 1) / 2) return ScaleUpKind::kMesh;
    const bool bridges = std::ranges::all_of(
        joints, [](const NodeFigures::Joint& joint) { return joint.a % 2 == 0 && joint.b == joint.a + 1; });
    return equal && bridges && 2 * joints.size() == gpus_.size() ? ScaleUpKind::kPairs : ScaleUpKind::kLinks;
  }

  const NodeTopology& topology_;
  std::vector<int> gpus_, nics_;           // devices
  std::vector<std::vector<int>> nearest_;  // devices, by GPU
  NodeFigures figures_;
};

}  // namespace

NodeFigures node_figures(const NodeTopology& topology) { return Conversion(topology).run(); }

}  // namespace scenarios
