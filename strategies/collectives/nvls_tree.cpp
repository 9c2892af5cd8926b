// NVLS inside the domains, a double tree between them: the owners of piece i in all domains form the trees of rail i.
// As in tree.cpp a channel is a pair of trees.
#include "strategies/collectives/double_tree.h"
#include "strategies/collectives/nvls.h"
#include "strategies/collectives/registered.h"

namespace strategies {
namespace {

TreeNode rail_tree(const GroupDomains& group, int rank, int tree) {
  const TreePosition position = double_tree(group.domains(), group.domain(rank), tree);
  const int rail = group.local(rank);
  TreeNode node;
  if (position.parent >= 0) node.parent = group.rank(position.parent, rail);
  for (const int child : position.child) {
    if (child >= 0) node.children.push_back(group.rank(child, rail));
  }
  return node;
}

}  // namespace

std::vector<Step> nvls_tree_steps(const Exchange& exchange, const GroupDomains& group, int member) {
  if (member == group.network()) return {};
  const Cut cut{group.domain_size(0), 2 * exchange.channels, exchange.slices};
  return write_slices(cut, [&](StepWriter& writer, int c, int s) {
    if (group.is_rank(member)) {
      nvls_rank_all_reduce(writer, group, member, rail_tree(group, member, c % 2), cut, c, s);
    } else {
      nvls_switch_all_reduce(writer, group, member - group.ranks(), cut, c, s);
    }
  });
}

}  // namespace strategies
