// Reduction of gradients over the replicas in buckets, as the backward of the last microbatch completes them.
#pragma once

#include <vector>

#include "strategies/transformer/block_writer.h"
#include "strategies/transformer/deferred_gradients.h"
#include "strategies/transformer/stage.h"

namespace strategies {

class GradientBuckets {
 public:
  /// `active` false: nothing is reduced here (not the last microbatch, one replica, or no overlap). With `later`
  /// weight gradients and reductions are left to another block, which goes through that list.
  GradientBuckets(BlockWriter& writer, const Stage& stage, bool active, DeferredGradients* later = nullptr)
      : writer_(writer), stage_(stage), active_(active), later_(later) {}

  /// The gradient of `parameter` is complete once the last operation written has run.
  void ready(const Parameter& parameter);
  bool defers() const { return later_ != nullptr; }
  /// Leaves the product to the later block. Precondition: defers().
  void defer(const Parameter& weight, WeightProduct product);
  /// Frees `buffer`, unless a product that was left to do reads it.
  void release(BufferId buffer);
  /// For gradients that another operation will complete and report.
  GradientBuckets unreported() const { return {writer_, stage_, false, later_}; }
  /// Reduces what is left.
  void flush();

 private:
  BlockWriter& writer_;
  const Stage& stage_;
  bool active_;
  DeferredGradients* later_;
  std::int64_t elements_ = 0, padded_ = 0;
  BlockWriter::Buffers gradients_;
};

}  // namespace strategies
