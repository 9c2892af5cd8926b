// Messages straight from source to destination. All-to-all: rank r sends to r+1, r+2, ... while it receives from r-1,
// r-2, ..., so that at no time two ranks aim at the same third. Lanes: 0 sends, 1 receives.
#include "strategies/collectives/registered.h"
#include "strategies/collectives/step_writer.h"

namespace strategies {
namespace {

void all_to_all(StepWriter& writer, const Cut& cut, int rank, int c, int s) {
  const int n = cut.blocks;
  writer.copy(0, cut.piece(rank, c, s, StepBuffer::kSource), cut.piece(rank, c, s));
  for (int i = 1; i < n; ++i) {
    const int to = (rank + i) % n, from = (rank - i + n) % n;
    writer.send(0, to, cut.piece(to, c, s, StepBuffer::kSource));
    writer.receive(1, from, cut.piece(from, c, s));
  }
}

void send(StepWriter& writer, const Exchange& exchange, const Cut& cut, int rank, int c, int s) {
  const Slice source = cut.piece(0, c, s, StepBuffer::kSource), result = cut.piece(0, c, s);
  const bool sends = rank == exchange.root, receives = rank == exchange.receiver;
  if (sends && receives) return writer.copy(0, source, result);
  if (sends) writer.send(0, exchange.receiver, source);
  if (receives) writer.receive(1, exchange.root, result);
}

}  // namespace

std::vector<Step> direct_steps(const Exchange& exchange, const GroupDomains& group, int member) {
  if (!group.is_rank(member)) return {};
  const bool single = exchange.kind == ExchangeKind::kSend;
  const Cut cut{single ? 1 : group.ranks(), exchange.channels, exchange.slices};
  return write_slices(cut, [&](StepWriter& writer, int c, int s) {
    if (single) {
      send(writer, exchange, cut, member, c, s);
    } else {
      all_to_all(writer, cut, member, c, s);
    }
  });
}

}  // namespace strategies
