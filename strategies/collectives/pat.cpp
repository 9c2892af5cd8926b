// Parallel aggregated trees. All-gather: every rank's block spreads along a binomial tree whose far links come first;
// at distance d = 2^k each rank sends, in one message, all blocks that it holds and that the rank d further lacks:
//
//     blocks r, r - 2d, r - 4d, ... (modulo n) go from r to r + d, as long as the way from their owner is shorter than
//     n
//
// Each way 1 ... n-1 has one last link (its lowest set bit), so every block arrives once. Far first means that the
// messages of the longest distance are the smallest. Reduce-scatter is the same backwards. NCCL bounds the blocks per
// message by its buffers and repeats the near part; here they are unbounded, which is its form for small operations.
#include <bit>

#include "strategies/collectives/registered.h"
#include "strategies/collectives/step_writer.h"

namespace strategies {
namespace {

/// How many of the ways d, 3d, 5d, ... are shorter than n.
int blocks_at(int n, int distance) { return (n - 1 + distance) / (2 * distance); }

}  // namespace

std::vector<Step> pat_steps(const Exchange& exchange, const GroupDomains& group, int member) {
  const int n = group.ranks();
  if (!group.is_rank(member) || n == 1) return {};
  const bool gather = exchange.kind == ExchangeKind::kAllGather;
  const Cut cut{n, exchange.channels, exchange.slices};
  const int farthest = static_cast<int>(std::bit_floor(static_cast<unsigned>(n - 1)));
  return write_slices(cut, [&](StepWriter& writer, int c, int s) {
    // Blocks of `owner` and of every second rank at this distance before it.
    const auto blocks = [&](int owner, int distance) {
      return cut.pieces(owner, blocks_at(n, distance), -2 * distance, c, s);
    };
    for (int d = gather ? farthest : 1; d >= 1 && d <= farthest; d = gather ? d / 2 : d * 2) {
      const int above = (member + d) % n, below = (member - d + n) % n;
      if (gather) {
        writer.send(0, above, blocks(member, d));
        writer.receive(0, below, blocks(below, d));
      } else {
        writer.send(0, below, blocks(below, d));
        writer.reduce(0, above, blocks(member, d));
      }
    }
  });
}

}  // namespace strategies
