#include "strategies/transformer/gradient_buckets.h"

#include <algorithm>
#include <utility>

namespace strategies {

void GradientBuckets::ready(const Parameter& parameter) {
  if (!active_) return;
  if (later_ != nullptr) {
    later_->push_back({&parameter, writer_.layer(), std::nullopt});
    return;
  }
  elements_ += parameter.elements;
  padded_ += stage_.parameters.padded_elements(parameter);
  gradients_.push_back(parameter.gradient);
  const std::int64_t bucket = stage_.implementation.bucket_parameters;
  if (bucket > 0 && elements_ >= bucket) flush();
}

void GradientBuckets::defer(const Parameter& weight, WeightProduct product) {
  later_->push_back({&weight, writer_.layer(), std::move(product)});
}

void GradientBuckets::release(BufferId buffer) {
  const auto reads = [buffer](const DeferredGradient& gradient) {
    return gradient.product && (gradient.product->dy == buffer || gradient.product->x == buffer);
  };
  if (later_ == nullptr || std::ranges::none_of(*later_, reads)) writer_.free(buffer);
}

void GradientBuckets::flush() {
  if (!active_ || elements_ == 0) return;
  // A sharded optimizer needs only its shard of the sum: its piece of every parameter, all pieces of equal size.
  const auto element_bytes = static_cast<std::int64_t>(hw_models::info(stage_.implementation.gradient).bytes);
  const bool sharded = stage_.plan.zero >= 1 && stage_.implementation.sharded_reduction == ShardedReduction::kScatter;
  const int layer = writer_.layer();
  const Phase phase = writer_.phase();
  writer_.at(layer, Phase::kReduce);
  writer_.collective(sharded ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce, stage_.groups.data,
                     (sharded ? padded_ : elements_) * element_bytes, stage_.implementation.gradient, Lane::kData,
                     "reduce-gradients", gradients_, gradients_);
  writer_.at(layer, phase);
  elements_ = padded_ = 0;
  gradients_.clear();
}

}  // namespace strategies
