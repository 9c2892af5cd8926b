// Reduction of gradients over the replicas in buckets, as the backward of the last microbatch completes them.
#pragma once

#include <vector>

#include "strategies/transformer/block_writer.h"
#include "strategies/transformer/stage.h"

namespace strategies {

class GradientBuckets {
 public:
  /// `active` false: nothing is reduced here (not the last microbatch, one replica, or no overlap).
  GradientBuckets(BlockWriter& writer, const Stage& stage, bool active)
      : writer_(writer), stage_(stage), active_(active) {}

  /// The gradient of `parameter` is complete once the last operation written has run.
  void ready(const Parameter& parameter);
  /// Reduces what is left.
  void flush();

 private:
  BlockWriter& writer_;
  const Stage& stage_;
  bool active_;
  std::int64_t elements_ = 0, padded_ = 0;
  BlockWriter::Buffers gradients_;
};

}  // namespace strategies
