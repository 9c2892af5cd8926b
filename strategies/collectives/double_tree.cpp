#include "strategies/collectives/double_tree.h"

#include <bit>

namespace strategies {
namespace {

TreePosition first_tree(int n, int position) {
  TreePosition result;
  if (position == 0) {
    if (n > 1) result.child[1] = static_cast<int>(std::bit_floor(static_cast<unsigned>(n - 1)));
    return result;
  }
  const int lowest = position & -position;
  // Positions `lowest` to the left and to the right have longer runs of zeros below; the parent is the one whose run is
  // longer by one, unless that lies outside.
  const int wanted = (position - lowest) | (2 * lowest);
  result.parent = wanted < n ? wanted : position - lowest;
  if (lowest == 1) return result;
  result.child[0] = position - lowest / 2;
  for (int step = lowest / 2; step > 0 && result.child[1] < 0; step /= 2) {
    if (position + step < n) result.child[1] = position + step;
  }
  return result;
}

}  // namespace

TreePosition double_tree(int n, int position, int tree) {
  if (tree == 0) return first_tree(n, position);
  const bool mirror = n % 2 == 0;
  const auto there = [&](int p) { return mirror ? n - 1 - p : (p + n - 1) % n; };
  const auto back = [&](int p) { return p < 0 ? -1 : (mirror ? n - 1 - p : (p + 1) % n); };
  const TreePosition played = first_tree(n, there(position));
  return {back(played.parent), {back(played.child[0]), back(played.child[1])}};
}

TreeNode chained_tree(const GroupDomains& group, int rank, int tree, int rotation) {
  const int domain = group.domain(rank), size = group.domain_size(domain);
  const auto chain = [&](int d, int place) {
    const int length = group.domain_size(d);
    return group.rank(d, (place % length + rotation) % length);
  };
  const int place = ((group.local(rank) - rotation) % size + size) % size;
  const TreePosition position = double_tree(group.domains(), domain, tree);
  TreeNode node;
  if (place > 0) {
    node.parent = chain(domain, place - 1);
  } else if (position.parent >= 0) {
    const bool right = double_tree(group.domains(), position.parent, tree).child[1] == domain;
    node.parent = chain(position.parent, right && group.domain_size(position.parent) > 1 ? 1 : 0);
  }
  if (place + 1 < size) node.children.push_back(chain(domain, place + 1));
  if (place == 0 && position.child[0] >= 0) node.children.push_back(chain(position.child[0], 0));
  if (place == (size > 1 ? 1 : 0) && position.child[1] >= 0) node.children.push_back(chain(position.child[1], 0));
  return node;
}

}  // namespace strategies
