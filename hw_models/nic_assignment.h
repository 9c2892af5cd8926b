// Which NICs every GPU uses: its own by affinity, unless another one was chosen for it or its own are dead.
//
//   own NICs, some of them dead   those that live
//   own NICs, all dead            the nearest living NIC of the node, which it shares with that one's owner: behind the
//                                 same PCIe switch, else at the same CPU, else any; of equally near ones the next by
//                                 index, after the last the first
#pragma once

#include <map>
#include <vector>

#include "hw_models/cluster_numbering.h"

namespace hw_models {

class NicAssignment {
 public:
  /// Both outlive the object; `spec` must have passed check().
  NicAssignment(const ClusterSpec& spec, const ClusterNumbering& number);

  /// By index inside the node, ascending; empty only without NICs. The first one carries the GPU's messages.
  NicSet of(int gpu) const;

 private:
  const ClusterSpec& spec_;
  const ClusterNumbering& number_;
  std::map<int, std::vector<int>> changed_;  ///< by GPU: what is not its affinity
};

}  // namespace hw_models
