#include "strategies/build_program.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "strategies/layer_split.h"
#include "strategies/pipeline/schedule.h"
#include "strategies/transformer/chunk_blocks.h"
#include "strategies/transformer/stage.h"
#include "strategies/transformer/update.h"

namespace strategies {
namespace {

Mesh dense_mesh(const PlanSpec& plan) {
  Mesh mesh;
  std::istringstream order(plan.rank_order);
  for (std::string name; std::getline(order, name, '-');) {
    if (name == "ep") continue;  // experts live in a view of their own
    const int extent = name == "tp"   ? plan.tensor
                       : name == "cp" ? plan.context
                       : name == "dp" ? plan.data
                                      : plan.pipeline;
    mesh.dimensions.push_back({name, extent});
  }
  return mesh;
}

Group group_over(const Mesh& mesh, std::string name, std::initializer_list<const char*> dimensions) {
  Group group{std::move(name), 0, {}};
  for (int d = 0; d < static_cast<int>(mesh.dimensions.size()); ++d) {
    const std::string& dimension = mesh.dimensions[static_cast<std::size_t>(d)].name;
    if (std::ranges::find(dimensions, dimension) != dimensions.end()) group.spans.push_back({d, {}});
  }
  return group;
}

PlanGroups add_groups(Program& program, const ModelSpec& model, const PlanSpec& plan) {
  const Mesh& mesh = program.views.front();
  program.groups = {group_over(mesh, "tensor", {"tp"}), group_over(mesh, "data", {"dp", "cp"}),
                    group_over(mesh, "world", {"tp", "cp", "dp", "pp"})};
  PlanGroups ids{.tensor = {0}, .data = {1}, .embedding = {}, .world = {2}};
  if (model.tied_embeddings && plan.pipeline > 1) {
    const int last = program.stage_of_virtual.back();
    Group pair{"embedding", 0, {{mesh.find("pp"), {0, last}}}};
    ids.embedding = {static_cast<std::uint32_t>(program.groups.size())};
    program.groups.push_back(std::move(pair));
  }
  return ids;
}

/// The last operation on `lane` in `block`, if any.
std::optional<OperationId> last_on(const Block& block, Lane lane) {
  for (std::uint32_t i = static_cast<std::uint32_t>(block.operations.size()); i-- > 0;) {
    if (block.operations[i].lane == lane) return OperationId{i};
  }
  return std::nullopt;
}

std::optional<OperationId> first_compute(const Block& block) {
  for (std::uint32_t i = 0; i < block.operations.size(); ++i) {
    if (block.operations[i].lane == Lane::kCompute) return OperationId{i};
  }
  return std::nullopt;
}

/// Blocks and schedule of one pipeline stage.
class StageBuilder {
 public:
  StageBuilder(const Program& program, Stage& stage, const std::vector<int>& split, const Schedule& schedule,
               const ScheduleShape& shape)
      : program_(program), stage_(stage), split_(split), schedule_(schedule), shape_(shape) {}

  void build() {
    find_chunks();
    add_parameters();
    add_activations();
    write_blocks();
    write_schedule();
  }

 private:
  void find_chunks() {
    int first_layer = 0;
    for (int v = 0; v < static_cast<int>(split_.size()); ++v) {
      const int layers = split_[static_cast<std::size_t>(v)];
      if (program_.stage_of_virtual[static_cast<std::size_t>(v)] == stage_.role.stage) {
        chunks_.push_back({static_cast<int>(chunks_.size()), v, static_cast<int>(split_.size()), first_layer, layers});
      }
      first_layer += layers;
    }
  }

  void add_parameters() {
    const bool tied = stage_.model.tied_embeddings;
    bool has_embedding = false;
    for (const Chunk& chunk : chunks_) {
      if (chunk.first()) stage_.parameters.add_embedding(stage_.model);
      has_embedding = has_embedding || chunk.first();
      for (int i = 0; i < chunk.layers; ++i) {
        stage_.parameters.add_layer(stage_.model, chunk.first_layer + i, chunk.index);
      }
      if (chunk.last()) stage_.parameters.add_head(stage_.model, chunk.index, tied, tied && has_embedding);
    }
    stage_.parameters.add_optimizer_state();
  }

  void add_activations() {
    add_persistent_buffers(stage_);
    for (const Chunk& chunk : chunks_) {
      for (int i = 0; i < chunk.layers; ++i) {
        const int layer = chunk.first_layer + i;
        stage_.layers[layer] = add_layer_buffers(stage_, layer);
      }
      if (chunk.last()) add_head_buffers(stage_);
    }
  }

  bool reduces_beside_backward() const {
    return stage_.replicas() > 1 && stage_.implementation.overlap_gradient_reduce;
  }

  void write_blocks() {
    const std::int64_t samples = stage_.plan.micro_batch * stage_.plan.data;
    const bool reduces = reduces_beside_backward();
    for (const Chunk& chunk : chunks_) {
      forward_.push_back(write_forward_block(stage_, chunk, samples));
      if (shape_.microbatches > 1 || !reduces) {
        backward_.push_back(write_backward_block(stage_, chunk, reduces ? Variant::kMiddle : Variant::kOnly, false));
      } else {
        backward_.push_back(0);  // the only microbatch is the last
      }
      last_backward_.push_back(reduces ? write_backward_block(stage_, chunk, Variant::kLast, true) : backward_.back());
    }
    update_ = write_update(stage_, chunks_.front().virtual_stage, reduces);
  }

  void write_schedule() {
    std::vector<Action>& actions = stage_.role.schedule;
    for (const ComputeAction& compute : schedule_.actions(shape_, stage_.role.stage)) {
      const auto chunk = static_cast<std::size_t>(compute.chunk);
      const bool last = compute.microbatch + 1 == shape_.microbatches;
      const std::uint32_t block = compute.kind == BlockKind::kForward ? forward_[chunk]
                                  : last                              ? last_backward_[chunk]
                                                                      : backward_[chunk];
      actions.push_back({block, compute.microbatch, {}});
    }
    actions.push_back({update_.block, -1, {}});
    if (stage_.implementation.blocking_sends) wait_for_sends();
    join_update();
    join_gathers();
  }

  const Block& block_of(const Action& action) const { return stage_.role.blocks[action.block]; }

  /// The next action's compute waits for this action's send.
  void wait_for_sends() {
    std::vector<Action>& actions = stage_.role.schedule;
    for (std::uint32_t a = 0; a + 1 < actions.size(); ++a) {
      const auto dependent = first_compute(block_of(actions[a + 1]));
      for (const Lane lane : {Lane::kSendNext, Lane::kSendPrevious}) {
        const auto send = last_on(block_of(actions[a]), lane);
        if (send && dependent) actions[a + 1].after.push_back({0, a, *send, *dependent});
      }
    }
  }

  /// The update's reductions wait for the last backward; its first compute for reductions beside the backwards.
  void join_update() {
    std::vector<Action>& actions = stage_.role.schedule;
    Action& update = actions.back();
    const auto previous = static_cast<std::uint32_t>(actions.size()) - 2;
    if (const auto compute = last_on(block_of(actions[previous]), Lane::kCompute)) {
      for (const OperationId operation : update_.after_backward)
        update.after.push_back({0, previous, *compute, operation});
    }
    for (std::uint32_t a = previous + 1; a-- > 0;) {
      const auto reduction = last_on(block_of(actions[a]), Lane::kData);
      if (!reduction) continue;
      update.after.push_back({0, a, *reduction, update_.first_compute});
      for (const OperationId operation : update_.after_backward) update.after.push_back({0, a, *reduction, operation});
      return;  // the lane is in order: the last one completes them all
    }
  }

  /// The first forward of every chunk waits, operation by operation, for the gathers of the step before; without
  /// overlap the first operation of the step waits for all of them.
  void join_gathers() {
    std::vector<Action>& actions = stage_.role.schedule;
    const auto update = static_cast<std::uint32_t>(actions.size()) - 1;
    if (update_.gathers.empty()) return;
    if (!stage_.implementation.overlap_parameter_gather) {
      const auto dependent = first_compute(block_of(actions.front()));
      if (dependent) actions.front().after.push_back({1, update, update_.gathers.back().operation, *dependent});
      return;
    }
    for (const ParameterGather& gather : update_.gathers) {
      const std::uint32_t block = forward_[static_cast<std::size_t>(gather.chunk)];
      const auto dependent = first_reader(stage_.role.blocks[block], gather.weights);
      const auto action = std::ranges::find(actions, block, &Action::block);
      if (dependent) action->after.push_back({1, update, gather.operation, *dependent});
    }
  }

  static std::optional<OperationId> first_reader(const Block& block, const std::vector<BufferId>& buffers) {
    for (std::uint32_t i = 0; i < block.operations.size(); ++i) {
      for (const BufferId read : block.operations[i].reads) {
        if (std::ranges::find(buffers, read) != buffers.end()) return OperationId{i};
      }
    }
    return std::nullopt;
  }

  const Program& program_;
  Stage& stage_;
  const std::vector<int>& split_;
  const Schedule& schedule_;
  ScheduleShape shape_;
  std::vector<Chunk> chunks_;
  std::vector<std::uint32_t> forward_, backward_, last_backward_;
  UpdateBlock update_;
};

/// A stack's gradient format is meant for its usual precision: fp16 gradients need fp16's loss scaling (Megatron-LM
/// switches to fp32 for bf16), and those of fp32 weights are fp32.
Implementation for_precision(Implementation implementation, const TrainingSpec& training) {
  using hw_models::DType;
  const bool wide = training.precision == DType::kFp32 || training.precision == DType::kTf32;
  const bool unscaled = implementation.gradient == DType::kFp16 && training.precision != DType::kFp16;
  if (wide || unscaled) implementation.gradient = DType::kFp32;
  if (implementation.sharded_reduction == ShardedReduction::kAllReduceUnlessFp16) {
    implementation.sharded_reduction =
        training.precision == DType::kFp16 ? ShardedReduction::kScatter : ShardedReduction::kAllReduce;
  }
  return implementation;
}

void assign_roles(Program& program) {
  const Mesh& mesh = program.views.front();
  const int pipeline = mesh.find("pp");
  program.role_of_rank.resize(static_cast<std::size_t>(mesh.size()));
  for (int rank = 0; rank < mesh.size(); ++rank) {
    program.role_of_rank[static_cast<std::size_t>(rank)] =
        static_cast<std::uint32_t>(mesh.coordinate({rank}, pipeline));
  }
}

}  // namespace

Program build_program(const ModelSpec& model, const TrainingSpec& training, const PlanSpec& plan,
                      const Implementation& implementation) {
  for (const PlanFinding& finding : check_plan(model, training, plan)) {
    if (!finding.warning) throw std::invalid_argument(finding.path + ": " + finding.message);
  }
  const Implementation made = for_precision(implementation, training);
  const Schedule& schedule = *find_schedule(plan.schedule);
  const ScheduleShape shape{plan.pipeline, plan.chunks,
                            static_cast<int>(training.global_batch / (plan.data * plan.micro_batch))};
  Program program;
  program.implementation = implementation.name;
  program.views = {dense_mesh(plan)};
  program.stage_of_virtual = schedule.stage_of_virtual(shape);
  program.samples_per_step = training.global_batch;
  program.tokens_per_step = training.global_batch * training.sequence_length;
  const PlanGroups groups = add_groups(program, model, plan);
  const Shapes shapes = shapes_of(model, training, plan, made);
  const std::vector<int> split = made.balance_stages ? balanced_split(model, plan) : split_layers(model.layers, plan);
  program.roles.resize(static_cast<std::size_t>(plan.pipeline));
  for (int s = 0; s < plan.pipeline; ++s) {
    Role& role = program.roles[static_cast<std::size_t>(s)];
    role.name = "stage " + std::to_string(s);
    role.stage = s;
    StageParameters parameters(role, shapes, plan, made, training.optimizer);
    Stage stage{model, training, plan, made, shapes, groups, role, parameters, {}, {}, {}, {}};
    StageBuilder(program, stage, split, schedule, shape).build();
  }
  assign_roles(program);
  return program;
}

}  // namespace strategies
