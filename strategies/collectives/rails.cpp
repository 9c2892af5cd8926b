#include "strategies/collectives/rails.h"

namespace strategies {

std::vector<int> rail(const GroupDomains& group, int local) {
  std::vector<int> ranks;
  for (int d = 0; d < group.domains(); ++d) ranks.push_back(group.rank(d, local));
  return ranks;
}

void network_all_reduce(StepWriter& writer, const GroupDomains& group, const Cut& cut, int channel, int slice) {
  for (int i = 0; i < cut.blocks; ++i) {
    const std::vector<int> ranks = rail(group, i);
    writer.collect(0, ranks, cut.piece(i, channel, slice));
    writer.send_to_all(0, ranks, cut.piece(i, channel, slice), kResults);
  }
}

}  // namespace strategies
