#include "strategies/transformer/weight_window.h"

#include <algorithm>
#include <utility>

namespace strategies {
namespace {

using hw_models::Elementwise;
using hw_models::ElementwiseKind;

constexpr int kRoot = -1;

}  // namespace

WeightWindow::WeightWindow(BlockWriter& writer, const Stage& stage, std::vector<int> layers, int chunk,
                           bool gathers_kept)
    : writer_(writer),
      stage_(stage),
      layers_(std::move(layers)),
      chunk_(chunk),
      gathers_kept_(gathers_kept),
      ahead_(stage.implementation.overlap_parameter_gather ? static_cast<std::size_t>(stage.plan.prefetch) : 0) {
  if (!stage_.plan.shards_weights()) layers_.clear();
}

/// Without a pipeline the root holds what belongs to no layer of the whole model.
std::vector<const Parameter*> WeightWindow::unit(int layer) const {
  std::vector<const Parameter*> found;
  for (const Parameter& parameter : stage_.parameters.all()) {
    if (parameter.layer == layer && (layer != kRoot || parameter.chunk == chunk_)) found.push_back(&parameter);
  }
  return found;
}

bool WeightWindow::gathers(const std::vector<const Parameter*>& parameters) const {
  if (parameters.empty()) return false;
  const Lifetime lifetime = stage_.role.buffers[parameters.front()->weight.value].lifetime;
  return lifetime == Lifetime::kBlock || gathers_kept_;
}

std::optional<WeightWindow::Gathered> WeightWindow::gather(int layer) {
  const std::vector<const Parameter*> parameters = unit(layer);
  if (!gathers(parameters)) return std::nullopt;
  const int layer_before = writer_.layer();
  const Phase phase_before = writer_.phase();
  writer_.at(layer, Phase::kGather);
  std::int64_t padded = 0, narrow = 0;
  BlockWriter::Buffers shards, whole;
  for (const Parameter* parameter : parameters) {
    padded += stage_.parameters.padded_elements(*parameter);
    if (stage_.gathers_narrow(*parameter)) narrow += stage_.parameters.padded_elements(*parameter);
    shards.push_back(*parameter->weight_shard);
    whole.push_back(parameter->weight);
  }
  const std::int64_t piece = padded / stage_.plan.shards();
  const hw_models::DType dtype = stage_.gathered();
  const std::int64_t bytes = stage_.gathered_bytes(padded, narrow);
  const std::int64_t piece_bytes = bytes / stage_.plan.shards();
  const bool casts = stage_.parameters.weight_shard() != dtype && stage_.implementation.fp32_shards;
  if (casts) {
    const BufferId cast = writer_.temporary("cast-shards", piece_bytes);
    writer_.compute(Elementwise{ElementwiseKind::kCast, piece, storage_bytes(piece, stage_.parameters.weight_shard()),
                                piece_bytes, false},
                    "cast-shards", std::move(shards), {cast});
    shards = {cast};
  }
  Gathered gathered;
  if (stage_.implementation.shards_rows) {
    gathered.packed = writer_.temporary("gathered-weights", bytes, Holds::kWeights);
    whole = {*gathered.packed};
  }
  gathered.operation = writer_.collective(CollectiveKind::kAllGather, stage_.groups.shard, bytes, dtype, Lane::kGather,
                                          "gather-weights", shards, std::move(whole));
  if (casts) writer_.free(shards.front());
  writer_.at(layer_before, phase_before);
  return gathered;
}

void WeightWindow::gather_until(std::size_t position) {
  while (gathered_.size() < std::min(position, layers_.size())) gathered_.push_back(gather(layers_[gathered_.size()]));
}

void WeightWindow::unpack(int layer, const Gathered& gathered) {
  writer_.wait_for(gathered.operation);
  if (!gathered.packed) return;
  std::int64_t elements = 0, narrow = 0;
  BlockWriter::Buffers whole;
  for (const Parameter* parameter : unit(layer)) {
    elements += parameter->elements;
    if (stage_.gathers_narrow(*parameter)) narrow += parameter->elements;
    whole.push_back(parameter->weight);
  }
  const int layer_before = writer_.layer();
  const Phase phase_before = writer_.phase();
  writer_.at(layer, Phase::kGather);
  const std::int64_t bytes = stage_.gathered_bytes(elements, narrow);
  writer_.compute(Elementwise{ElementwiseKind::kCopy, elements, bytes, bytes, false}, "unpack-weights",
                  {*gathered.packed}, std::move(whole));
  writer_.free(*gathered.packed);
  writer_.at(layer_before, phase_before);
}

void WeightWindow::open(bool root) {
  root_ = root && stage_.plan.shards_weights();
  std::optional<Gathered> gathered;
  if (root_) gathered = gather(kRoot);
  gather_until(ahead_);
  if (gathered) unpack(kRoot, *gathered);
}

void WeightWindow::enter(int layer) {
  const auto position = static_cast<std::size_t>(std::ranges::find(layers_, layer) - layers_.begin());
  if (position == layers_.size()) return;
  gather_until(position + ahead_ + 1);
  if (gathered_[position]) unpack(layer, *gathered_[position]);
}

void WeightWindow::give_back(int layer, bool last_use) {
  for (const Parameter* parameter : unit(layer)) {
    const Lifetime lifetime = stage_.role.buffers[parameter->weight.value].lifetime;
    const bool ends = lifetime == Lifetime::kBlock || (lifetime == Lifetime::kMicrobatch && last_use);
    if (ends) writer_.free(parameter->weight);
  }
}

void WeightWindow::leave(int layer, bool last_use) {
  if (stage_.plan.shards_weights()) give_back(layer, last_use);
}

void WeightWindow::close(bool last_use) {
  if (root_) give_back(kRoot, last_use);
}

}  // namespace strategies
