#include "strategies/collectives/nvls.h"

#include "strategies/collectives/registered.h"

namespace strategies {

void nvls_rank_all_reduce(StepWriter& writer, const GroupDomains& group, int rank, TreeNode owner, const Cut& cut,
                          int channel, int slice) {
  const int domain = group.domain(rank), size = group.domain_size(domain), its_switch = group.switch_of(domain);
  const Slice own = cut.piece(group.local(rank), channel, slice);
  if (size == 1) return writer.reduce_and_broadcast(1, 2, owner, own);  // nothing to share
  for (int i = 0; i < size; ++i) writer.send(0, its_switch, cut.piece(i, channel, slice));
  writer.receive(1, its_switch, own);
  for (const int child : owner.children) writer.reduce(1, child, own);
  owner.children.push_back(its_switch);  // it gets the result like a child
  writer.turn(1, 2, owner, own);
  for (int i = 0; i < size; ++i) writer.receive(3, its_switch, cut.piece(i, channel, slice), kResults);
}

void nvls_switch_all_reduce(StepWriter& writer, const GroupDomains& group, int domain, const Cut& cut, int channel,
                            int slice) {
  if (group.domain_size(domain) == 1) return;
  for (int i = 0; i < group.domain_size(domain); ++i) {
    const int owner = group.rank(domain, i);
    const Slice piece = cut.piece(i, channel, slice);
    writer.collect(0, group.ranks_of(domain), piece);
    writer.send(0, owner, piece);
    writer.receive(1, owner, piece, kResults);
    writer.send_to_all(1, group.ranks_of(domain), piece, kResults);
  }
}

namespace {

void reduce_scatter(StepWriter& writer, const GroupDomains& group, int member, const Cut& cut, int c, int s) {
  const int its_switch = group.switch_of(0);
  for (int owner = 0; owner < group.ranks(); ++owner) {
    const Slice piece = cut.piece(owner, c, s);
    if (member == its_switch) {
      writer.collect(0, group.ranks_of(0), piece);
      writer.send(0, owner, piece);
    } else {
      writer.send(0, its_switch, piece);
      if (owner == member) writer.receive(1, its_switch, piece);
    }
  }
}

void all_gather(StepWriter& writer, const GroupDomains& group, int member, const Cut& cut, int c, int s) {
  const int its_switch = group.switch_of(0);
  for (int owner = 0; owner < group.ranks(); ++owner) {
    const Slice piece = cut.piece(owner, c, s);
    if (member == its_switch) {
      writer.receive(0, owner, piece);
      writer.send_to_all(0, group.ranks_of(0), piece);
    } else {
      if (owner == member) writer.send(0, its_switch, piece);
      writer.receive(1, its_switch, piece);
    }
  }
}

}  // namespace

std::vector<Step> nvls_steps(const Exchange& exchange, const GroupDomains& group, int member) {
  if (member == group.network() || group.ranks() == 1) return {};
  const Cut cut{group.ranks(), exchange.channels, exchange.slices};
  return write_slices(cut, [&](StepWriter& writer, int c, int s) {
    if (exchange.kind == ExchangeKind::kReduceScatter) {
      reduce_scatter(writer, group, member, cut, c, s);
    } else if (exchange.kind == ExchangeKind::kAllGather) {
      all_gather(writer, group, member, cut, c, s);
    } else if (group.is_rank(member)) {
      nvls_rank_all_reduce(writer, group, member, {}, cut, c, s);
    } else {
      nvls_switch_all_reduce(writer, group, 0, cut, c, s);
    }
  });
}

}  // namespace strategies
