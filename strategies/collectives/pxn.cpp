// PXN (PCI x NVLink): a message for another domain first goes to the local rank on the destination's rail, which sends
// it through its own NIC; no message crosses rails in the network. In an all-to-all that rank sends the blocks of its
// whole domain for one destination as one message: domains - 1 messages leave through each NIC instead of ranks - ranks
// per domain.
//
// All-to-all, rank (a, i), ranks per domain L, staging block b L + k = what local rank k sends to (b, i). Lane 0 hands
// block (b, k) to mate k. Lane 1 takes its own blocks from the mates; for every other domain b collects the L blocks,
// sends them; then receives as many from b, in the same place, and spreads them over the result.
#include "strategies/collectives/registered.h"
#include "strategies/collectives/step_writer.h"

namespace strategies {
namespace {

/// One slice of one channel, seen from one rank.
struct Part {
  const GroupDomains& group;
  Cut cut;
  int rank, channel, slice;

  int domain(int shift) const { return (group.domain(rank) + shift + group.domains()) % group.domains(); }
  int size() const { return group.domain_size(0); }
  int rail() const { return group.local(rank); }
  int mate(int shift) const { return (rail() + shift + size()) % size(); }
  Slice source(int block) const { return cut.piece(block, channel, slice, StepBuffer::kSource); }
  Slice staging(int block) const { return cut.piece(block, channel, slice, StepBuffer::kStaging); }
  Slice result(int block) const { return cut.piece(block, channel, slice); }
  Slice bundle(int domain) const {
    return cut.pieces(domain * size(), size(), 1, channel, slice, StepBuffer::kStaging);
  }
};

void hand_to_mates(StepWriter& writer, const Part& part) {
  for (int shift = 0; shift < part.group.domains(); ++shift) {
    for (int k = 1; k < part.size(); ++k) {
      const int destination = part.group.rank(part.domain(shift), part.mate(k));
      writer.send(0, part.group.rank(part.domain(0), part.mate(k)), part.source(destination));
    }
  }
}

void take_own_domain(StepWriter& writer, const Part& part) {
  writer.copy(1, part.source(part.rank), part.result(part.rank));
  for (int k = 1; k < part.size(); ++k) {
    const int mate = part.group.rank(part.domain(0), part.mate(-k));
    writer.receive(1, mate, part.result(mate));
  }
}

void send_bundles(StepWriter& writer, const Part& part) {
  for (int shift = 1; shift < part.group.domains(); ++shift) {
    const int b = part.domain(shift), destination = part.group.rank(b, part.rail());
    writer.copy(1, part.source(destination), part.staging(b * part.size() + part.rail()));
    for (int k = 1; k < part.size(); ++k) {
      const int mate = part.mate(-k);
      writer.receive(1, part.group.rank(part.domain(0), mate), part.staging(b * part.size() + mate));
    }
    writer.send(1, destination, part.bundle(b));
  }
}

void receive_bundles(StepWriter& writer, const Part& part) {
  for (int shift = 1; shift < part.group.domains(); ++shift) {
    const int b = part.domain(-shift);
    writer.receive(1, part.group.rank(b, part.rail()), part.bundle(b));
    for (int k = 0; k < part.size(); ++k) {
      writer.copy(1, part.staging(b * part.size() + k), part.result(part.group.rank(b, k)));
    }
  }
}

/// One message, through the sender's mate on the receiver's rail.
void send(StepWriter& writer, const Exchange& exchange, const Part& part) {
  const GroupDomains& group = part.group;
  const int from = exchange.root, to = exchange.receiver;
  if (from == to) {
    if (part.rank == from) writer.copy(0, part.source(0), part.result(0));
    return;
  }
  const int domain = group.domain(from);
  const int through = group.far(from, to) ? group.rank(domain, group.local(to)) : from;
  if (part.rank == from) writer.send(0, through == from ? to : through, part.source(0));
  if (part.rank == through && through != from) {
    writer.receive(1, from, part.staging(0));
    writer.send(1, to, part.staging(0));
  }
  if (part.rank == to) writer.receive(1, through, part.result(0));
}

}  // namespace

std::vector<Step> pxn_steps(const Exchange& exchange, const GroupDomains& group, int member) {
  if (!group.is_rank(member)) return {};
  const bool single = exchange.kind == ExchangeKind::kSend;
  const Cut cut{single ? 1 : group.ranks(), exchange.channels, exchange.slices};
  return write_slices(cut, [&](StepWriter& writer, int c, int s) {
    const Part part{group, cut, member, c, s};
    if (single) {
      send(writer, exchange, part);
      return;
    }
    hand_to_mates(writer, part);
    take_own_domain(writer, part);
    send_bundles(writer, part);
    receive_bundles(writer, part);
  });
}

}  // namespace strategies
