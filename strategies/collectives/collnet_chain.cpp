// In-network reduction above a chain through each domain, in an order rotated by the channel so that every channel's
// head uses another NIC.
#include "strategies/collectives/registered.h"
#include "strategies/collectives/step_writer.h"

namespace strategies {

std::vector<Step> collnet_chain_steps(const Exchange& exchange, const GroupDomains& group, int member) {
  if (group.is_switch(member)) return {};
  const Cut cut{1, exchange.channels, exchange.slices};
  StepWriter writer;
  for (int c = 0; c < cut.channels; ++c) {
    writer.set_channel(c);
    const auto chain = [&](int domain, int place) {
      const int size = group.domain_size(domain);
      return group.rank(domain, (place + c) % size);
    };
    TreeNode node;
    if (group.is_rank(member)) {
      const int domain = group.domain(member), size = group.domain_size(domain);
      const int place = ((group.local(member) - c) % size + size) % size;
      node.parent = place == 0 ? group.network() : chain(domain, place - 1);
      if (place + 1 < size) node.children = {chain(domain, place + 1)};
    } else {
      for (int d = 0; d < group.domains(); ++d) node.children.push_back(chain(d, 0));
    }
    for (int s = 0; s < cut.slices; ++s) {
      const Slice piece = cut.piece(0, c, s);
      if (group.is_rank(member)) {
        writer.reduce_and_broadcast(0, 1, node, piece);
      } else {
        writer.collect(0, node.children, piece);
        writer.send_to_all(0, node.children, piece, kResults);
      }
    }
  }
  return writer.take();
}

}  // namespace strategies
