#include "hw_models/nic_assignment.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace hw_models {
namespace {

/// Nearest of the living NICs around the lost one.
class Fallback {
 public:
  Fallback(const PoolNumbering& number, const std::set<int>& dead, int local_gpu, int lost)
      : number_(number), dead_(dead), local_gpu_(local_gpu), lost_(lost) {}

  /// Empty when none lives.
  std::vector<int> nearest() const {
    std::vector<std::tuple<int, int, int>> order;
    for (int nic = 0; nic < number_.nics; ++nic) {
      if (dead_.contains(nic)) continue;
      order.emplace_back(hops(nic), (nic - lost_ + number_.nics) % number_.nics, nic);
    }
    if (order.empty()) return {};
    return {std::get<2>(*std::ranges::min_element(order))};
  }

 private:
  /// 0: same PCIe switch, 1: same CPU, 2: another one.
  int hops(int nic) const {
    const int own = number_.switch_of_gpu(local_gpu_), other = number_.switch_of_nic(nic);
    if (own == other) return 0;
    return number_.host_of_switch(own) == number_.host_of_switch(other) ? 1 : 2;
  }

  const PoolNumbering& number_;
  const std::set<int>& dead_;
  int local_gpu_, lost_;
};

}  // namespace

NicAssignment::NicAssignment(const ClusterSpec& spec, const ClusterNumbering& number) : spec_(spec), number_(number) {
  for (const auto& [gpu, nic] : spec.chosen_nics) changed_[gpu] = {nic};
  std::map<int, std::set<int>> dead_in;
  for (const DeadNic& dead : spec.dead_nics) dead_in[dead.node].insert(dead.nic);
  for (const auto& node_and_dead : dead_in) {
    const std::set<int>& dead = node_and_dead.second;
    const PoolNumbering& pool = number.of_node(node_and_dead.first);
    for (int local = 0; local < pool.gpus; ++local) {
      const int gpu = number.first_gpu(node_and_dead.first) + local;
      const NicSet own = of(gpu);
      std::vector<int> living;
      for (int i = 0; i < own.size(); ++i) {
        if (!dead.contains(own[i])) living.push_back(own[i]);
      }
      if (living.empty()) living = Fallback(pool, dead, local, own.first()).nearest();
      if (!living.empty()) changed_[gpu] = living;
    }
  }
}

NicSet NicAssignment::of(int gpu) const {
  const auto changed = changed_.find(gpu);
  if (changed != changed_.end()) return NicSet(changed->second);
  return nics_of_local_gpu(spec_.node_of_pool(number_.pool_of_gpu(gpu)), number_.local_of(gpu));
}

}  // namespace hw_models
