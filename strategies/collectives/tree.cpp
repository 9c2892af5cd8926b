// Double binary tree: a channel is a pair of trees, each with half of the channel's share.
#include "strategies/collectives/double_tree.h"
#include "strategies/collectives/registered.h"

namespace strategies {

std::vector<Step> tree_steps(const Exchange& exchange, const GroupDomains& group, int member) {
  if (!group.is_rank(member)) return {};
  const Cut cut{1, 2 * exchange.channels, exchange.slices};
  StepWriter writer;
  for (int c = 0; c < cut.channels; ++c) {
    writer.set_channel(c);
    const TreeNode node = chained_tree(group, member, c % 2, c / 2);
    for (int s = 0; s < cut.slices; ++s) writer.reduce_and_broadcast(0, 1, node, cut.piece(0, c, s));
  }
  return writer.take();
}

}  // namespace strategies
