// ZeRO 3: when weights are whole (Rajbhandari et al., arXiv:1910.02054; Zhao et al., PyTorch FSDP, arXiv:2304.11277).
//
//   unit       = a layer; what belongs to no layer of a chunk (tables, final norm) is the chunk's root
//   window     = the unit that runs and the next `prefetch` in order of use
//   gather(i) starts when unit i - 1 - prefetch is done and its weights are gone: the window bounds the memory
//   first gather of a block: when the action before is done (StageBuilder)
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "strategies/transformer/block_writer.h"
#include "strategies/transformer/stage.h"

namespace strategies {

class WeightWindow {
 public:
  /// `layers` in order of use. `gathers_kept`: the block gathers what stays whole beyond it, too (a forward pass).
  WeightWindow(BlockWriter& writer, const Stage& stage, std::vector<int> layers, int chunk, bool gathers_kept);

  /// Gathers the root and what may run ahead of the first layer. `root`: the block reads it.
  void open(bool root);
  /// The operations that follow compute with the weights of `layer`.
  void enter(int layer);
  /// Gives the weights back that do not stay whole. `last_use`: those that were kept for this block, too.
  void leave(int layer, bool last_use);
  void close(bool last_use);

 private:
  struct Gathered {
    OperationId operation;
    std::optional<BufferId> packed;  ///< where parameters are copied from
  };

  std::vector<const Parameter*> unit(int layer) const;
  bool gathers(const std::vector<const Parameter*>& parameters) const;
  std::optional<Gathered> gather(int layer);
  void gather_until(std::size_t position);
  void unpack(int layer, const Gathered& gathered);
  void give_back(int layer, bool last_use);

  BlockWriter& writer_;
  const Stage& stage_;
  std::vector<int> layers_;
  int chunk_;
  bool gathers_kept_;
  bool root_ = false;
  std::size_t ahead_ = 0;                          ///< layers
  std::vector<std::optional<Gathered>> gathered_;  ///< of the first layers
};

}  // namespace strategies
