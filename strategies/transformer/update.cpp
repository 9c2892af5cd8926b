#include "strategies/transformer/update.h"

#include <algorithm>
#include <optional>

#include "strategies/transformer/gradient_buckets.h"

namespace strategies {
namespace {

class UpdateWriter {
 public:
  UpdateWriter(const Stage& stage, int virtual_stage, bool reduced)
      : stage_(stage),
        virtual_stage_(virtual_stage),
        reduced_(reduced),
        w_(stage.role, Block{BlockKind::kUpdate, Variant::kOnly, 0, virtual_stage, false, {}},
           stage.implementation.blocking_launches) {}

  UpdateBlock run() {
    reduce();
    if (stage_.shapes.activation == hw_models::DType::kFp16) unscale();
    if (stage_.implementation.gradient_norm) gradient_norm();
    optimizer();
    narrow_weights();
    if (!stage_.plan.shards_weights()) gather();
    w_.at(-1, Phase::kUpdate);
    if (stage_.implementation.loss_read) w_.host(HostReason::kLossRead, {optimizer_});
    w_.host(HostReason::kStepOverhead, {});
    result_.first_compute = *first_compute_;  // the optimizer's at the latest
    result_.block = w_.finish();
    return result_;
  }

 private:
  hw_models::DType gradient_dtype() const { return stage_.parameters.held_gradient(); }
  std::int64_t gradient_bytes(std::int64_t elements) const { return storage_bytes(elements, gradient_dtype()); }

  void all_reduce(GroupId group, std::int64_t bytes, Lane lane, const char* label,
                  const BlockWriter::Buffers& gradients) {
    const OperationId operation =
        w_.collective(CollectiveKind::kAllReduce, group, bytes, gradient_dtype(), lane, label, gradients, gradients);
    // It reads what the reductions over the replicas, on a lane of their own, leave in the same gradients.
    for (const OperationId earlier : awaited_) w_.add_dependence(operation, earlier);
    result_.after_backward.push_back(operation);
    awaited_.push_back(operation);
  }

  void reduce() {
    w_.at(-1, Phase::kReduce);
    const auto& parameters = stage_.parameters.all();
    const bool reduces = std::ranges::any_of(
        parameters, [&](const Parameter& parameter) { return stage_.parameters.replicas(parameter) > 1; });
    if (!reduced_ && reduces) {
      GradientBuckets buckets(w_, stage_, true);
      for (auto p = parameters.rbegin(); p != parameters.rend(); ++p) buckets.ready(*p);
      buckets.flush();
      for (std::uint32_t i = 0; i <= w_.last().value; ++i) {
        result_.after_backward.push_back({i});
        awaited_.push_back({i});
      }
    }
    if (stage_.tensor_parallel()) reduce_replicated();
    if (stage_.groups.embedding) reduce_tied();
  }

  /// Gradients of replicated parameters that are partial sums: under sequence parallelism every tensor rank sums its
  /// own rows; the norms of queries and keys see only the rank's own heads in any case.
  void reduce_replicated() {
    std::int64_t elements = 0;
    BlockWriter::Buffers gradients;
    for (const Parameter& parameter : stage_.parameters.all()) {
      const bool per_head = parameter.name.ends_with(".query_key_norm");
      if (!parameter.tensor_replicated || !(stage_.plan.sequence_parallel || per_head)) continue;
      elements += stage_.parameters.held_gradient_elements(parameter);
      gradients.push_back(parameter.held_gradient());
    }
    if (elements > 0) {
      all_reduce(stage_.groups.tensor, gradient_bytes(elements), Lane::kTensor, "reduce-norms", gradients);
    }
  }

  void reduce_tied() {
    for (const Parameter& parameter : stage_.parameters.all()) {
      if (!parameter.tied_copy && parameter.name != "embedding.weight") continue;
      all_reduce(*stage_.groups.embedding, gradient_bytes(stage_.parameters.held_gradient_elements(parameter)),
                 Lane::kData, "reduce-tied-embedding", {parameter.held_gradient()});
    }
  }

  /// fp16 needs loss scaling: gradients are divided by the scale and checked for overflow, in fp32; narrower ones are
  /// copied first.
  void unscale() {
    w_.at(-1, Phase::kUpdate);
    const std::int64_t elements = stage_.parameters.updated_elements();
    await_reductions();
    if (gradient_dtype() != hw_models::DType::kFp32) {
      BlockWriter::Buffers gradients = final_gradients();
      main_gradients_ = w_.temporary("main-gradients", elements * 4);
      note_first_compute(w_.compute(hw_models::Elementwise{hw_models::ElementwiseKind::kCast, elements,
                                                           gradient_bytes(elements), elements * 4, false},
                                    "main-gradients", std::move(gradients), {*main_gradients_}));
    }
    const BlockWriter::Buffers scaled = final_gradients();
    note_first_compute(w_.compute(
        hw_models::Elementwise{hw_models::ElementwiseKind::kScale, elements, elements * 4, elements * 4, false},
        "unscale", scaled, scaled));
  }

  void note_first_compute(OperationId operation) {
    if (!first_compute_) first_compute_ = operation;
  }
  /// What the norm and the optimizer read: the gradients, or their fp32 copy.
  BlockWriter::Buffers final_gradients() const {
    if (main_gradients_) return {*main_gradients_};
    BlockWriter::Buffers gradients;
    for (const Parameter& parameter : stage_.parameters.all()) gradients.push_back(parameter.held_gradient());
    return gradients;
  }
  hw_models::DType final_dtype() const { return main_gradients_ ? hw_models::DType::kFp32 : gradient_dtype(); }

  void gradient_norm() {
    w_.at(-1, Phase::kUpdate);
    const std::int64_t elements = stage_.parameters.updated_elements();
    const BlockWriter::Buffers gradients = final_gradients();
    const BufferId norm = w_.temporary("gradient-norm", 8);
    await_reductions();
    const OperationId squares =
        w_.compute(hw_models::SquaredNorm{elements, final_dtype()}, "gradient-norm", gradients, {norm});
    note_first_compute(squares);
    std::vector<OperationId> known{squares};
    if (stage_.validates_afterwards()) {
      known = {chain_norm(norm, squares)};
    } else if (stage_.plan.ranks() > 1) {
      known = {w_.collective(CollectiveKind::kAllReduce, stage_.groups.world, 8, hw_models::DType::kFp32, Lane::kData,
                             "reduce-gradient-norm", {norm}, {norm})};
    }
    w_.host(HostReason::kGradientNorm, known);
    const std::int64_t bytes = storage_bytes(elements, final_dtype());
    BlockWriter::Buffers reads = gradients;
    reads.push_back(norm);
    w_.compute(hw_models::Elementwise{hw_models::ElementwiseKind::kScale, elements, bytes, bytes, false}, "clip",
               std::move(reads), gradients);
    w_.free(norm);
  }

  /// The squares of this stage, and of those before it as far as they tell, on to the next one.
  OperationId chain_norm(BufferId norm, OperationId known) {
    if (stage_.plan.ranks() > stage_.plan.pipeline) {
      known = w_.collective(CollectiveKind::kAllReduce, *stage_.groups.replica, 8, hw_models::DType::kFp32, Lane::kData,
                            "reduce-gradient-norm", {norm}, {norm});
      w_.wait_for(known);
    }
    if (stage_.role.stage > 0) {
      const BufferId before = w_.temporary("norm-before", 8);
      w_.receive(virtual_stage_ - 1, 8, Payload::kActivation, Lane::kReceivePrevious, before);
      known = w_.compute(hw_models::Elementwise{hw_models::ElementwiseKind::kAdd, 1, 16, 8, false}, "norm-so-far",
                         {before, norm}, {norm});
      w_.free(before);
    }
    if (stage_.role.stage + 1 < stage_.plan.pipeline) {
      w_.send(virtual_stage_ + 1, 8, Payload::kActivation, Lane::kSendNext, norm);
    }
    return known;
  }

  void await_reductions() {
    for (const OperationId operation : awaited_) w_.wait_for(operation);
    awaited_.clear();
  }

  /// Of the weights that a master copy is rounded to, for each.
  double copied_bytes() const {
    const auto wide = static_cast<double>(stage_.shapes.activation_bytes);
    const NarrowFormat& narrow = stage_.shapes.narrow;
    const std::int64_t alone = narrow.use.weights == NarrowWeights::kAlone ? stage_.parameters.narrow_elements() : 0;
    if (alone == 0) return wide;
    const double share = static_cast<double>(alone) / static_cast<double>(stage_.parameters.elements());
    return wide - share * (wide - hw_models::info(narrow.dtype).bytes);
  }

  /// The narrow copies that outlive the step, of all weights of the rank: where weights are gathered the first forward
  /// pass makes them, layer by layer, which costs as much.
  void narrow_weights() {
    const NarrowFormat& narrow = stage_.shapes.narrow;
    const std::int64_t elements = stage_.parameters.narrow_elements();
    const bool alone = narrow.use.weights == NarrowWeights::kAlone;
    // Alone and gathered narrow, or not gathered at all, weights come from the optimizer; what can be missing is the
    // transposed copy.
    const bool only_transposes = alone && !narrow.two_directions;
    if (elements == 0 || narrow.use.weights == NarrowWeights::kEachUse || (only_transposes && !narrow.transposes))
      return;
    const std::int64_t once = narrow.bytes(elements);
    const std::int64_t wide = elements * stage_.shapes.activation_bytes * (narrow.reads_twice ? 2 : 1);
    BlockWriter::Buffers weights;
    for (const Parameter& parameter : stage_.parameters.all()) {
      if (parameter.narrow) weights.push_back(parameter.weight);
    }
    w_.compute(hw_models::Elementwise{hw_models::ElementwiseKind::kCast, elements, only_transposes ? once : wide,
                                      only_transposes || !narrow.copies() ? once : 2 * once, false},
               "narrow-weights", weights, weights);
  }

  void optimizer() {
    w_.at(-1, Phase::kUpdate);
    const bool master = stage_.parameters.keeps_master();
    hw_models::Optimizer kernel;
    kernel.kind = stage_.training.optimizer;
    kernel.parameters = stage_.parameters.updated_elements();
    // Read gradient, state (AdamW: momentum, variance) and (master) weights; write the last two, and the low-precision
    // copy.
    const double gradient = hw_models::info(final_dtype()).bytes;
    const double kept = 4 + static_cast<double>(state_bytes(kernel.kind, false));
    kernel.bytes_per_parameter = gradient + 2 * kept + (master ? copied_bytes() : 0);
    BlockWriter::Buffers reads = final_gradients();
    reads.push_back(stage_.parameters.optimizer_state());
    BlockWriter::Buffers writes{stage_.parameters.optimizer_state()};
    BlockWriter::Buffers gradients;
    std::int64_t elements = 0;
    for (const Parameter& parameter : stage_.parameters.all()) {
      writes.push_back(parameter.held_weight());
      gradients.push_back(parameter.held_gradient());
      elements += stage_.parameters.held_gradient_elements(parameter);
    }
    await_reductions();
    optimizer_ = w_.compute(kernel, "optimizer", std::move(reads), std::move(writes));
    note_first_compute(optimizer_);
    if (main_gradients_) w_.free(*main_gradients_);
    w_.compute(hw_models::Elementwise{hw_models::ElementwiseKind::kZero, elements, 0, gradient_bytes(elements), false},
               "zero-gradients", {}, std::move(gradients));
  }

  /// Every replica updated its shard; the weights come together again, in order of use.
  void gather() {
    w_.at(-1, Phase::kGather);
    if (stage_.implementation.flat_parameter_gather && stage_.plan.shards() > 1) add_flat_copies();
    const std::int64_t bucket = stage_.implementation.gathers_at_once ? 0 : stage_.implementation.bucket_parameters;
    for (int chunk = 0; chunk < stage_.plan.chunks; ++chunk) {
      Gathering dense{.group = stage_.groups.shard, .chunk = chunk};
      Gathering experts{.group = stage_.groups.expert_data, .chunk = chunk};
      for (const Parameter& parameter : stage_.parameters.all()) {
        if (parameter.chunk != chunk || stage_.parameters.shards(parameter) == 1) continue;
        Gathering& next = parameter.expert ? experts : dense;
        next.elements += parameter.elements;
        next.padded += stage_.parameters.padded_elements(parameter);
        if (stage_.gathers_narrow(parameter)) next.narrow += stage_.parameters.padded_elements(parameter);
        next.weights.push_back(parameter.weight);
        if (bucket > 0 && next.elements >= bucket) emit(next);
      }
      emit(dense);
      emit(experts);
    }
    for (const BufferId copy : flat_copies_) w_.free(copy);
  }

  /// The shard in one piece, the pieces of all replicas, and the one buffer that the library gathers them into:
  /// (2 + 1/replicas) times the weights, from the first gather to the last.
  void add_flat_copies() {
    const std::int64_t shard = stage_.parameters.updated_elements() * stage_.shapes.activation_bytes;
    const int replicas = stage_.replicas();
    flat_copies_.push_back(w_.temporary("flat-shard", shard));
    for (int i = 0; i < replicas; ++i) flat_copies_.push_back(w_.temporary("flat-piece", shard));
    flat_copies_.push_back(w_.temporary("flat-weights", shard * replicas));
  }

  /// Weights that are gathered together; `narrow` of the `padded` elements travel in the narrow format.
  struct Gathering {
    GroupId group;
    int chunk = 0;
    std::int64_t elements = 0, padded = 0, narrow = 0;
    BlockWriter::Buffers weights = {};
  };

  void emit(Gathering& next) {
    if (next.padded == 0) return;
    const hw_models::DType dtype = stage_.gathered();
    const std::int64_t bytes = stage_.gathered_bytes(next.padded, next.narrow);
    BlockWriter::Buffers written = next.weights;
    if (result_.gathers.empty()) written.insert(written.end(), flat_copies_.begin(), flat_copies_.end());
    const OperationId operation = w_.collective(CollectiveKind::kAllGather, next.group, bytes, dtype, Lane::kGather,
                                                "gather-parameters", next.weights, std::move(written));
    result_.gathers.push_back({.operation = operation, .chunk = next.chunk, .weights = std::move(next.weights)});
    next = {.group = next.group, .chunk = next.chunk};
  }

  const Stage& stage_;
  int virtual_stage_;
  bool reduced_;
  BlockWriter w_;
  UpdateBlock result_;
  std::vector<OperationId> awaited_;
  OperationId optimizer_;
  std::optional<OperationId> first_compute_;
  BlockWriter::Buffers flat_copies_;        ///< of flat_parameter_gather
  std::optional<BufferId> main_gradients_;  ///< fp32 copy, with loss scaling only
};

}  // namespace

std::optional<std::uint32_t> write_validation(const Stage& stage, int virtual_stage) {
  if (!stage.validates_afterwards() || stage.plan.pipeline == 1) return std::nullopt;
  BlockWriter writer(stage.role, Block{BlockKind::kOther, Variant::kOnly, 0, virtual_stage, false, {}},
                     stage.implementation.blocking_launches);
  writer.at(-1, Phase::kUpdate);
  const BufferId norm = writer.temporary("global-norm", 8);
  if (stage.role.stage + 1 < stage.plan.pipeline) {
    writer.receive(virtual_stage + 1, 8, Payload::kGradient, Lane::kReceiveNext, norm);
  }
  const OperationId checked = writer.compute(hw_models::Elementwise{hw_models::ElementwiseKind::kScale, 1, 8, 8, false},
                                             "validate-update", {}, {norm});
  if (stage.role.stage > 0) {
    writer.send(virtual_stage - 1, 8, Payload::kGradient, Lane::kSendPrevious, norm);
  }
  writer.free(norm);
  writer.host(HostReason::kGradientNorm, {checked});
  return writer.finish();
}

UpdateBlock write_update(const Stage& stage, int virtual_stage, bool reduced) {
  return UpdateWriter(stage, virtual_stage, reduced).run();
}

}  // namespace strategies
