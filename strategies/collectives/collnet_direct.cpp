// In-network reduction with every rank at the head of its rail. All-reduce: the ranks of a domain hand piece i to local
// rank i, which adds them up, lets the network add the domains, and hands the result back to its domain. Lanes of a
// rank as in nvls.h: 0 hands out, 1 sums and sends up, 2 brings down, 3 takes in.
#include "strategies/collectives/rails.h"
#include "strategies/collectives/registered.h"

namespace strategies {
namespace {

/// One slice of one channel.
struct Part {
  const GroupDomains& group;
  Cut cut;
  int channel = 0, slice = 0;

  Slice piece(int block) const { return cut.piece(block, channel, slice); }
  std::vector<int> mates(int rank) const {
    std::vector<int> others;
    for (const int other : group.ranks_of(group.domain(rank))) {
      if (other != rank) others.push_back(other);
    }
    return others;
  }
};

void all_reduce(StepWriter& writer, const Part& part, int member) {
  const GroupDomains& group = part.group;
  if (!group.is_rank(member)) return network_all_reduce(writer, group, part.cut, part.channel, part.slice);
  const std::vector<int> mates = part.mates(member);
  for (const int mate : mates) writer.send(0, mate, part.piece(group.local(mate)));
  writer.reduce_and_broadcast(1, 2, {group.network(), mates}, part.piece(group.local(member)));
  for (const int mate : mates) writer.receive(3, mate, part.piece(group.local(mate)), kResults);
}

// The network adds every block over its owner's rail and hands the sum to the owner alone.
void reduce_scatter(StepWriter& writer, const Part& part, int member) {
  const GroupDomains& group = part.group;
  for (int d = 0; d < group.domains(); ++d) {
    for (int i = 0; i < group.domain_size(0); ++i) {
      const int owner = group.rank(d, i);
      const Slice piece = part.piece(owner);
      if (!group.is_rank(member)) {
        writer.collect(0, rail(group, i), piece);
        writer.send(0, owner, piece);
      } else if (i != group.local(member)) {
        writer.send(0, group.rank(group.domain(member), i), piece);
      } else {
        for (const int mate : part.mates(member)) writer.reduce(1, mate, piece);
        writer.send(1, group.network(), piece);
        if (owner == member) writer.receive(2, group.network(), piece);
      }
    }
  }
}

// The network copies every block to the other ranks of its owner's rail, which copy it to their domains.
void all_gather(StepWriter& writer, const Part& part, int member) {
  const GroupDomains& group = part.group;
  if (group.is_rank(member)) writer.send(1, group.network(), part.piece(member));
  for (int d = 0; d < group.domains(); ++d) {
    for (int i = 0; i < group.domain_size(0); ++i) {
      const int owner = group.rank(d, i);
      const Slice piece = part.piece(owner);
      if (!group.is_rank(member)) {
        writer.receive(0, owner, piece);
        for (const int other : rail(group, i)) {
          if (other != owner) writer.send(0, other, piece);
        }
      } else if (i != group.local(member)) {
        writer.receive(3, group.rank(group.domain(member), i), piece);
      } else {
        if (owner != member) writer.receive(2, group.network(), piece);
        writer.send_to_all(2, part.mates(member), piece);
      }
    }
  }
}

}  // namespace

std::vector<Step> collnet_direct_steps(const Exchange& exchange, const GroupDomains& group, int member) {
  if (group.is_switch(member)) return {};
  const bool blocks_of_rails = exchange.kind == ExchangeKind::kAllReduce;
  const Cut cut{blocks_of_rails ? group.domain_size(0) : group.ranks(), exchange.channels, exchange.slices};
  return write_slices(cut, [&](StepWriter& writer, int c, int s) {
    const Part part{group, cut, c, s};
    switch (exchange.kind) {
      case ExchangeKind::kReduceScatter:
        reduce_scatter(writer, part, member);
        break;
      case ExchangeKind::kAllGather:
        all_gather(writer, part, member);
        break;
      default:
        all_reduce(writer, part, member);
    }
  });
}

}  // namespace strategies
