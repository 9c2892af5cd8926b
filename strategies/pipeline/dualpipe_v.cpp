#include <array>
#include <deque>

#include "strategies/pipeline/registered.h"

namespace strategies {
namespace {

class Writer {
 public:
  void forward(int chunk) { actions.push_back({BlockKind::kForward, chunk, forwards_[at(chunk)]++}); }
  void backward(int chunk, bool splits) {
    const BlockKind kind = splits ? BlockKind::kBackwardInput : BlockKind::kBackward;
    actions.push_back({kind, chunk, backwards_[at(chunk)]++});
    if (splits) waiting_.push_back({BlockKind::kBackwardWeight, chunk, actions.back().microbatch});
  }
  void weight() {
    actions.push_back(waiting_.front());
    waiting_.pop_front();
  }
  bool weights_wait() const { return !waiting_.empty(); }

  std::vector<ComputeAction> actions;

 private:
  static std::size_t at(int chunk) { return static_cast<std::size_t>(chunk); }

  std::array<int, 2> forwards_{}, backwards_{};
  std::deque<ComputeAction> waiting_;  ///< weight gradients, oldest first
};

}  // namespace

// In the middle forwards of one direction and backwards of the other take turns, so that the messages of either hide
// behind the work of the other; weight gradients are apart only where a stage would wait at both ends.
// Precondition: at least 2 p microbatches.
std::vector<ComputeAction> dualpipe_v_actions(const ScheduleShape& shape, int stage) {
  const int below = shape.stages - 1 - stage;
  const int through = stage + 1;
  Writer w;
  for (int i = 0; i < 2 * below; ++i) w.forward(0);
  for (int i = 0; i < through; ++i) w.forward(0), w.forward(1);
  for (int i = 0; i < below; ++i) w.backward(1, true), w.weight(), w.forward(1);
  for (int i = 0; i < shape.microbatches - 2 * shape.stages + through; ++i) {
    w.forward(0), w.backward(1, false), w.forward(1), w.backward(0, false);
  }
  for (int i = 0; i < below; ++i) w.backward(1, false), w.forward(1), w.backward(0, false);
  for (int i = 0; i < through; ++i) {  // the second half is split
    const bool half = i == through / 2, beyond = i > through / 2;
    w.backward(1, beyond || (half && stage % 2 == 1));
    w.backward(0, beyond || half);
  }
  for (int i = 0; i < below; ++i) w.weight(), w.backward(0, true);
  while (w.weights_wait()) w.weight();
  return w.actions;
}

}  // namespace strategies
