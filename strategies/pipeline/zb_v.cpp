#include <algorithm>
#include <array>

#include "strategies/pipeline/registered.h"

namespace strategies {
namespace {

/// Counts the microbatches of each pass on both chunks.
class Writer {
 public:
  explicit Writer(int microbatches) : microbatches_(microbatches) {}

  void forward(int chunk) { add(BlockKind::kForward, chunk, forwards[at(chunk)]++); }
  void backward(int chunk) { add(BlockKind::kBackwardInput, chunk, backwards[at(chunk)]++); }
  void weight(int chunk) { add(BlockKind::kBackwardWeight, chunk, weights[at(chunk)]++); }

  std::array<int, 2> forwards{}, backwards{}, weights{};
  std::vector<ComputeAction> actions;

 private:
  static std::size_t at(int chunk) { return static_cast<std::size_t>(chunk); }
  void add(BlockKind kind, int chunk, int microbatch) {
    if (microbatch < microbatches_) actions.push_back({kind, chunk, microbatch});
  }

  int microbatches_;
};

}  // namespace

// With passes of equal length no stage ever waits. Fewer than 2 p - 1 microbatches leave gaps in the same order.
std::vector<ComputeAction> zb_v_actions(const ScheduleShape& shape, int stage) {
  const int rest = shape.stages - stage;  // from this stage down to the turn of the V
  const int run = std::max(shape.microbatches, 2 * shape.stages - 1);
  Writer w(shape.microbatches);
  for (int i = 0; i < 2 * rest - 1; ++i) w.forward(0);
  for (int i = 0; i < stage; ++i) w.forward(1), w.forward(0);
  for (int i = 0; i < rest; ++i) w.forward(1), w.backward(1), w.weight(1);
  while (w.forwards[1] < w.forwards[0] || w.forwards[0] < run) {
    if (w.forwards[0] < run) w.forward(0);
    w.backward(0), w.weight(0), w.forward(1), w.backward(1), w.weight(1);
  }
  for (int i = 0; i < stage; ++i) w.backward(0), w.backward(1);
  for (int i = 0; i < rest; ++i) w.backward(0), w.weight(0);
  while (w.weights[1] < w.backwards[1]) w.weight(1);
  while (w.weights[0] < w.backwards[0]) w.weight(0);
  return w.actions;
}

}  // namespace strategies
