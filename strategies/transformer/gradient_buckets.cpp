#include "strategies/transformer/gradient_buckets.h"

namespace strategies {

void GradientBuckets::ready(const Parameter& parameter) {
  if (!active_) return;
  elements_ += parameter.elements;
  padded_ += stage_.parameters.padded_elements(parameter);
  gradients_.push_back(parameter.gradient);
  const std::int64_t bucket = stage_.implementation.bucket_parameters;
  if (bucket > 0 && elements_ >= bucket) flush();
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
