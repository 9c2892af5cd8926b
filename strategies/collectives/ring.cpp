// Rings. A channel's ring visits the domains in order and the ranks of each in an order rotated by the channel, so that
// every channel enters and leaves a domain through another rank's NIC.
#include <algorithm>

#include "strategies/collectives/registered.h"
#include "strategies/collectives/step_writer.h"

namespace strategies {
namespace {

std::vector<int> ring_order(const GroupDomains& group, int channel) {
  std::vector<int> order;
  for (int d = 0; d < group.domains(); ++d) {
    const int size = group.domain_size(d);
    for (int i = 0; i < size; ++i) order.push_back(group.rank(d, (i + channel) % size));
  }
  return order;
}

/// One slice of one channel, seen from one place of the ring.
struct Ring {
  std::vector<int> order;
  int place = 0;
  Cut cut;
  int channel = 0, slice = 0;

  int ranks() const { return static_cast<int>(order.size()); }
  int wrap(int position) const { return (position % ranks() + ranks()) % ranks(); }
  int at(int position) const { return order[static_cast<std::size_t>(wrap(position))]; }
  int next() const { return at(place + 1); }
  int previous() const { return at(place - 1); }
  /// The block of the rank `back` places behind.
  Slice block(int back) const { return cut.piece(at(place - back), channel, slice); }
  Slice whole() const { return cut.piece(0, channel, slice); }
};

// A block starts one place after its owner and collects a contribution at every place.
void reduce_scatter(StepWriter& writer, const Ring& ring) {
  writer.send(0, ring.next(), ring.block(1));
  for (int back = 2; back <= ring.ranks(); ++back) {
    writer.reduce(0, ring.previous(), ring.block(back));
    if (back < ring.ranks()) writer.send(0, ring.next(), ring.block(back));
  }
}

void all_gather(StepWriter& writer, const Ring& ring) {
  writer.send(0, ring.next(), ring.block(0));
  for (int back = 1; back < ring.ranks(); ++back) {
    writer.receive(0, ring.previous(), ring.block(back));
    if (back + 1 < ring.ranks()) writer.send(0, ring.next(), ring.block(back));
  }
}

/// Places after the root.
int distance(const Ring& ring, int root) {
  const auto found = std::ranges::find(ring.order, root);
  return ring.wrap(ring.place - static_cast<int>(found - ring.order.begin()));
}

void broadcast(StepWriter& writer, const Ring& ring, int root) {
  const int after = distance(ring, root);
  if (after > 0) writer.receive(0, ring.previous(), ring.whole());
  if (after + 1 < ring.ranks()) writer.send(0, ring.next(), ring.whole());
}

void reduce(StepWriter& writer, const Ring& ring, int root) {
  const int after = distance(ring, root);
  if (after != 1) writer.reduce(0, ring.previous(), ring.whole());
  if (after != 0) writer.send(0, ring.next(), ring.whole());
}

void write(StepWriter& writer, const Ring& ring, const Exchange& exchange) {
  switch (exchange.kind) {
    case ExchangeKind::kAllReduce:
      reduce_scatter(writer, ring);
      return all_gather(writer, ring);
    case ExchangeKind::kReduceScatter:
      return reduce_scatter(writer, ring);
    case ExchangeKind::kAllGather:
      return all_gather(writer, ring);
    case ExchangeKind::kBroadcast:
      return broadcast(writer, ring, exchange.root);
    case ExchangeKind::kReduce:
      return reduce(writer, ring, exchange.root);
    case ExchangeKind::kAllToAll:
    case ExchangeKind::kSend:
      return;
  }
}

}  // namespace

std::vector<Step> ring_steps(const Exchange& exchange, const GroupDomains& group, int member) {
  if (!group.is_rank(member) || group.ranks() == 1) return {};
  const bool rooted = exchange.kind == ExchangeKind::kBroadcast || exchange.kind == ExchangeKind::kReduce;
  StepWriter writer;
  for (int c = 0; c < exchange.channels; ++c) {
    writer.set_channel(c);
    Ring ring{ring_order(group, c), 0, {rooted ? 1 : group.ranks(), exchange.channels, exchange.slices}, c, 0};
    ring.place = static_cast<int>(std::ranges::find(ring.order, member) - ring.order.begin());
    for (ring.slice = 0; ring.slice < exchange.slices; ++ring.slice) write(writer, ring, exchange);
  }
  return writer.take();
}

}  // namespace strategies
