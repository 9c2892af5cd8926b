// Reduction of gradients over the replicas, beside the backward pass that completes them.
//
//   buckets  (ZeRO 0, 1)   gradients are summed in place as soon as enough of them are complete, in the last microbatch
//   units    (ZeRO 2, 3)   the gradients of a layer are summed into this rank's pieces of them, then forgotten; the
//                          layer before must have gone out: at most two layers' gradients are whole at once
#pragma once

#include <cstdint>
#include <optional>
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
  /// So are all gradients of a layer.
  void unit_done();
  /// Reduces what is left.
  void flush();

  /// Zeroes gradients that a scattering kernel adds to, where they are made anew in every backward pass.
  void clear(const std::vector<const Parameter*>& added_to);

 private:
  /// Complete, not sent.
  struct Complete {
    bool experts = false;  ///< has replicas of its own
    std::int64_t elements = 0, padded = 0;
    BlockWriter::Buffers gradients = {}, shards = {};
  };

  BlockWriter::Buffers pack(const Complete& unit);
  void send(Complete& unit);
  void reduce_unit(const Complete& unit);
  OperationId reduce(const Complete& unit, const BlockWriter::Buffers& from, const BlockWriter::Buffers& into,
                     const char* label);

  BlockWriter& writer_;
  const Stage& stage_;
  bool active_;
  DeferredGradients* later_;
  Complete unit_;
  Complete experts_{.experts = true};
  Complete root_;                         ///< ZeRO 2, 3: what belongs to no layer is complete last
  std::optional<OperationId> in_flight_;  ///< reduction of the unit before
  BlockWriter::Buffers leaving_;          ///< what it reads
};

}  // namespace strategies
