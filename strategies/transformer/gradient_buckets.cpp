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
  if (stage_.parameters.replicas(parameter) == 1) return;
  const bool units = stage_.plan.zero >= 2;
  Complete& unit = parameter.expert ? experts_ : units && parameter.layer < 0 ? root_ : unit_;
  unit.elements += parameter.elements;
  unit.padded += stage_.parameters.padded_elements(parameter);
  unit.gradients.push_back(parameter.gradient);
  if (parameter.gradient_shard) unit.shards.push_back(*parameter.gradient_shard);
  const std::int64_t bucket = stage_.implementation.bucket_parameters;
  if (!units && bucket > 0 && unit.elements >= bucket) send(unit);
}

void GradientBuckets::unit_done() {
  if (stage_.plan.zero >= 2) send(unit_);
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
  send(unit_);
  send(experts_);
  send(root_);
  for (const BufferId buffer : std::exchange(leaving_, {})) writer_.free(buffer);
}

void GradientBuckets::send(Complete& unit) {
  if (unit.gradients.empty()) return;
  const int layer = writer_.layer();
  const Phase phase = writer_.phase();
  writer_.at(layer, Phase::kReduce);
  const Complete sent = std::exchange(unit, {.experts = unit.experts});
  if (stage_.plan.shards_gradients()) {
    reduce_unit(sent);
  } else {
    reduce(sent, sent.gradients, sent.gradients, "reduce-gradients");
  }
  writer_.at(layer, phase);
}

OperationId GradientBuckets::reduce(const Complete& unit, const BlockWriter::Buffers& from,
                                    const BlockWriter::Buffers& into, const char* label) {
  const hw_models::DType dtype = stage_.implementation.gradient;
  // A sharded optimizer needs only its shard of the sum: its piece of every parameter, all pieces of equal size.
  const bool scatter = stage_.implementation.sharded_reduction == ShardedReduction::kScatter;
  const int shards = unit.experts ? stage_.plan.expert_shards() : stage_.plan.shards();
  const bool sharded = shards > 1 && (stage_.plan.zero >= 2 || scatter);
  const bool replicated = sharded && !unit.experts && stage_.plan.replicates_shards(), in_place = from == into;
  const std::int64_t piece = storage_bytes(unit.padded / shards, dtype);
  BlockWriter::Buffers scattered = into;
  if (replicated && !in_place) scattered = {writer_.temporary("scattered-gradients", piece, Holds::kGradients)};
  const OperationId summed =
      writer_.collective(sharded ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                         unit.experts ? stage_.groups.expert_data
                         : sharded    ? stage_.groups.shard
                                      : stage_.groups.data,
                         storage_bytes(sharded ? unit.padded : unit.elements, dtype), dtype, Lane::kData,
                         replicated && !in_place ? "scatter-gradients" : label, from, scattered);
  if (!replicated) return summed;
  const OperationId everywhere = writer_.collective(CollectiveKind::kAllReduce, stage_.groups.replicate, piece, dtype,
                                                    Lane::kData, in_place ? "reduce-pieces" : label, scattered, into);
  writer_.add_dependence(everywhere, summed);
  if (!in_place) writer_.free(scattered.front());
  return everywhere;
}

/// What is sent: the gradients themselves, or a copy of them in one buffer and in the format of the reduction.
BlockWriter::Buffers GradientBuckets::pack(const Complete& unit) {
  using hw_models::ElementwiseKind;
  const hw_models::DType made = stage_.parameters.passing_gradient(), sent = stage_.implementation.gradient;
  if (made == sent && !stage_.implementation.shards_rows) return unit.gradients;
  const std::int64_t bytes = storage_bytes(unit.padded, sent);
  const BufferId packed = writer_.temporary("packed-gradients", bytes, Holds::kGradients);
  writer_.compute(hw_models::Elementwise{made == sent ? ElementwiseKind::kCopy : ElementwiseKind::kCast, unit.elements,
                                         storage_bytes(unit.elements, made), bytes, true},
                  "pack-gradients", unit.gradients, {packed});
  for (const BufferId gradient : unit.gradients) writer_.free(gradient);
  return {packed};
}

void GradientBuckets::reduce_unit(const Complete& unit) {
  if (in_flight_) writer_.wait_for(*in_flight_);
  BlockWriter::Buffers sent = pack(unit);
  in_flight_ = reduce(unit, sent, unit.shards, "shard-gradients");
  for (const BufferId gone : leaving_) writer_.free(gone);
  leaving_ = std::move(sent);
  if (!stage_.implementation.overlap_gradient_reduce) writer_.wait_for(*in_flight_);
}

void GradientBuckets::clear(const std::vector<const Parameter*>& added_to) {
  if (!stage_.plan.shards_gradients() || added_to.empty()) return;
  std::int64_t elements = 0;
  BlockWriter::Buffers gradients;
  for (const Parameter* parameter : added_to) {
    elements += parameter->elements;
    gradients.push_back(parameter->gradient);
  }
  const std::int64_t bytes = storage_bytes(elements, stage_.parameters.passing_gradient());
  writer_.compute(hw_models::Elementwise{hw_models::ElementwiseKind::kZero, elements, 0, bytes, true},
                  "clear-gradients", {}, std::move(gradients));
}

}  // namespace strategies
