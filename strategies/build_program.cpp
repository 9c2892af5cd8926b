#include "strategies/build_program.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <initializer_list>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "strategies/layer_split.h"
#include "strategies/pipeline/pass_costs.h"
#include "strategies/pipeline/schedule.h"
#include "strategies/transformer/chunk_blocks.h"
#include "strategies/transformer/context_tiles.h"
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

/// The ranks as experts see them: tensor ranks become expert tensor ranks, data ranks replicas of experts, and a
/// stage's context ranks are among both. Expert ranks come where the order says, or before the replicas.
Mesh expert_mesh(const PlanSpec& plan) {
  Mesh mesh;
  std::istringstream order(plan.rank_order);
  const Dimension experts{"ep", plan.expert};
  for (std::string name; std::getline(order, name, '-');) {
    if (name == "tp") mesh.dimensions.push_back({"etp", plan.tensor_of_experts()});
    if (name == "ep") mesh.dimensions.push_back(experts);
    if (name == "dp" && mesh.find("ep") < 0 && plan.rank_order.find("ep") == std::string::npos) {
      mesh.dimensions.push_back(experts);
    }
    if (name == "dp") mesh.dimensions.push_back({"edp", plan.expert_replicas()});
    if (name == "pp") mesh.dimensions.push_back({"pp", plan.pipeline});
  }
  return mesh;
}

/// HSDP: neighbours along the data dimension share a set of shards.
Mesh sharded_mesh(const Mesh& dense, const PlanSpec& plan) {
  Mesh mesh;
  for (const Dimension& dimension : dense.dimensions) {
    if (dimension.name == "dp") {
      mesh.dimensions.push_back({"dp-shard", plan.shard});
      mesh.dimensions.push_back({"dp-replicate", plan.data / plan.shard});
    } else {
      mesh.dimensions.push_back(dimension);
    }
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

PlanGroups add_groups(Program& program, const ModelSpec& model, const PlanSpec& plan, bool validates_afterwards) {
  const Mesh mesh = program.views.front();
  const auto add = [&program](Group group) {
    program.groups.push_back(std::move(group));
    return GroupId{static_cast<std::uint32_t>(program.groups.size() - 1)};
  };
  PlanGroups ids;
  ids.tensor = add(group_over(mesh, "tensor", {"tp"}));
  ids.data = ids.shard = ids.replicate = add(group_over(mesh, "data", {"dp", "cp"}));
  ids.world = add(group_over(mesh, "world", {"tp", "cp", "dp", "pp"}));
  if (plan.context > 1) ids.context = add(group_over(mesh, "context", {"cp"}));
  const int last = program.stage_of_virtual.back();
  const bool two_tables = model.tied_embeddings || model.extra_prediction_layers > 0;
  if (two_tables && last != program.stage_of_virtual.front()) {
    ids.embedding = add({"embedding", 0, {{mesh.find("pp"), {0, last}}}});
  }
  if (validates_afterwards) ids.replica = add(group_over(mesh, "replica", {"tp", "cp", "dp"}));
  /// In the view that came last.
  const auto add_viewed = [&](std::string name, std::initializer_list<const char*> dimensions) {
    Group group = group_over(program.views.back(), std::move(name), dimensions);
    group.view = static_cast<int>(program.views.size()) - 1;
    return add(std::move(group));
  };
  if (plan.replicates_shards()) {
    program.views.push_back(sharded_mesh(mesh, plan));
    ids.shard = add_viewed("shard", {"dp-shard", "cp"});
    ids.replicate = add_viewed("replicate", {"dp-replicate"});
  }
  if (model.experts) {
    program.views.push_back(expert_mesh(plan));
    ids.expert = add_viewed("expert", {"ep"});
    ids.expert_tensor = add_viewed("expert tensor", {"etp"});
    ids.expert_data = add_viewed("expert data", {"edp"});
  }
  return ids;
}

std::optional<OperationId> last_on(const Block& block, Lane lane) {
  for (std::uint32_t i = static_cast<std::uint32_t>(block.operations.size()); i-- > 0;) {
    if (block.operations[i].lane == lane) return OperationId{i};
  }
  return std::nullopt;
}

std::optional<OperationId> first_on(const Block& block, Lane lane) {
  for (std::uint32_t i = 0; i < block.operations.size(); ++i) {
    if (block.operations[i].lane == lane) return OperationId{i};
  }
  return std::nullopt;
}

/// Blocks and schedule of one pipeline stage.
class StageBuilder {
 public:
  StageBuilder(const Program& program, Stage& stage, const std::vector<int>& split, int microbatches)
      : program_(program), stage_(stage), split_(split), microbatches_(microbatches) {}

  void write() {
    find_chunks();
    add_parameters();
    add_activations();
    stage_.splits_backward ? write_split_blocks() : write_blocks();
    update_ = write_update(stage_, chunks_.front().virtual_stage, reduces_beside_backward());
    validation_ = write_validation(stage_, chunks_.front().virtual_stage);
  }

  /// By virtual stage. Precondition: the schedule splits backwards.
  void add_costs(std::vector<PassCosts>& costs) const {
    const std::vector<Block>& blocks = stage_.role.blocks;
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      costs[static_cast<std::size_t>(chunks_[c].virtual_stage)] =
          pass_costs(stage_.role, blocks[forward_[c]], blocks[input_[c]], blocks[weight_[c]]);
    }
  }

  void arrange(const std::vector<ComputeAction>& order) {
    write_schedule(order);
    if (stage_.implementation.blocking_sends) wait_for_sends();
    join_update();
    join_gathers();
    if (stage_.plan.shards_weights()) join_windows();
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
    for (std::size_t c = 0; c + 1 < chunks_.size(); ++c) {
      if (chunks_[c].virtual_stage + 1 != chunks_[c + 1].virtual_stage) continue;
      chunks_[c].next_here = chunks_[c + 1].previous_here = true;
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
      if (!chunk.last()) continue;
      stage_.parameters.add_head(stage_.model, chunk.index, tied, tied && has_embedding);
      const int predictions = stage_.model.extra_prediction_layers;
      for (int k = 0; k < predictions; ++k) {
        stage_.parameters.add_prediction(stage_.model, stage_.model.layers + k, chunk.index);
      }
      if (predictions > 0 && !tied && !has_embedding) stage_.parameters.add_embedding_copy(stage_.model, chunk.index);
    }
    stage_.parameters.add_optimizer_state();
    stage_.parameters.add_narrow_copies();
  }

  void add_activations() {
    add_persistent_buffers(stage_);
    for (const Chunk& chunk : chunks_) {
      for (int i = 0; i < chunk.layers; ++i) {
        const int layer = chunk.first_layer + i;
        stage_.layers[layer] = add_layer_buffers(stage_, layer);
      }
      if (chunk.last()) add_head_buffers(stage_);
      if (chunk.previous_here) add_handed_buffers(chunk);
    }
  }

  void add_handed_buffers(const Chunk& chunk) {
    const auto add = [this](const char* name) {
      return add_buffer(stage_.role, name, stage_.shapes.stream_bytes(), Holds::kActivations, Lifetime::kMicrobatch);
    };
    stage_.handed_activation = chunk.layers > 0 ? stage_.layers.at(chunk.first_layer).input
                               : chunk.last()   ? stage_.head.input
                                                : add("handed-activation");
    stage_.handed_gradient = add("handed-gradient");
  }

  bool reduces_beside_backward() const {
    return stage_.reduces_gradients() && (stage_.implementation.overlap_gradient_reduce || stage_.plan.zero >= 2);
  }

  /// Of a backward block that reduces nothing.
  Variant unreduced() const { return reduces_beside_backward() ? Variant::kMiddle : Variant::kOnly; }

  void write_blocks() {
    const std::int64_t samples = stage_.plan.micro_batch * stage_.plan.data;
    const bool reduces = reduces_beside_backward();
    const bool each = stage_.plan.shards_gradients(), once = stage_.plan.gathers_once();
    for (const Chunk& chunk : chunks_) {
      first_forward_.push_back(write_forward_block(stage_, chunk, once ? Variant::kFirst : Variant::kOnly, samples));
      const bool others = once && microbatches_ > 1;
      forward_.push_back(others ? write_forward_block(stage_, chunk, Variant::kMiddle, samples)
                                : first_forward_.back());
      if (each) {
        backward_.push_back(write_backward_block(stage_, chunk, Variant::kOnly, true));
        last_backward_.push_back(backward_.back());
        continue;
      }
      if (microbatches_ > 1 || !reduces) {
        backward_.push_back(write_backward_block(stage_, chunk, unreduced(), false));
      } else {
        backward_.push_back(0);  // the only microbatch is the last
      }
      last_backward_.push_back(reduces ? write_backward_block(stage_, chunk, Variant::kLast, true) : backward_.back());
    }
  }

  /// Fused backwards and the blocks that reduce are written when the order asks for them.
  void write_split_blocks() {
    const std::int64_t samples = stage_.plan.micro_batch * stage_.plan.data;
    deferred_.resize(chunks_.size());
    const bool only_reduces = microbatches_ == 1 && reduces_beside_backward();
    const Variant variant = only_reduces ? Variant::kLast : unreduced();
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      forward_.push_back(write_forward_block(stage_, chunks_[c], Variant::kOnly, samples));
      input_.push_back(write_input_block(stage_, chunks_[c], deferred_[c]));
      weight_.push_back(write_weight_block(stage_, chunks_[c], deferred_[c], variant, only_reduces));
    }
    first_forward_ = forward_;
    backward_.resize(chunks_.size(), kUnwritten);
  }

  /// The place of the action that completes the gradients of every chunk.
  std::vector<std::size_t> completing(const std::vector<ComputeAction>& order) const {
    std::vector<std::size_t> places(chunks_.size(), 0);
    for (std::size_t a = 0; a < order.size(); ++a) {
      const bool weights = order[a].kind == BlockKind::kBackward || order[a].kind == BlockKind::kBackwardWeight;
      if (weights) places[static_cast<std::size_t>(order[a].chunk)] = a;
    }
    return places;
  }

  std::uint32_t block_for(const ComputeAction& action, bool completes) {
    const auto c = static_cast<std::size_t>(action.chunk);
    if (action.kind == BlockKind::kForward) return action.microbatch == 0 ? first_forward_[c] : forward_[c];
    if (!stage_.splits_backward) return completes ? last_backward_[c] : backward_[c];
    if (action.kind == BlockKind::kBackwardInput) return input_[c];
    const bool fused = action.kind == BlockKind::kBackward;
    if (completes && reduces_beside_backward() && microbatches_ > 1) {
      return fused ? write_backward_block(stage_, chunks_[c], Variant::kLast, true)
                   : write_weight_block(stage_, chunks_[c], deferred_[c], Variant::kLast, true);
    }
    if (!fused) return weight_[c];
    if (backward_[c] == kUnwritten) backward_[c] = write_backward_block(stage_, chunks_[c], unreduced(), false);
    return backward_[c];
  }

  void write_schedule(const std::vector<ComputeAction>& order) {
    std::vector<Action>& actions = stage_.role.schedule;
    const std::vector<std::size_t> completing_places = completing(order);
    bool validated = !validation_;
    for (std::size_t a = 0; a < order.size(); ++a) {
      if (!validated && order[a].kind != BlockKind::kForward) {
        actions.push_back({*validation_, -1, {}});
        validated = true;
      }
      const bool completes = completing_places[static_cast<std::size_t>(order[a].chunk)] == a;
      actions.push_back({block_for(order[a], completes), order[a].microbatch, {}});
    }
    actions.push_back({update_.block, -1, {}});
  }

  const Block& block_of(const Action& action) const { return stage_.role.blocks[action.block]; }

  /// The next action's compute waits for this action's send.
  void wait_for_sends() {
    std::vector<Action>& actions = stage_.role.schedule;
    for (std::uint32_t a = 0; a + 1 < actions.size(); ++a) {
      const auto dependent = first_on(block_of(actions[a + 1]), Lane::kCompute);
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
      const auto dependent = first_on(block_of(actions.front()), Lane::kCompute);
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

  /// ZeRO 3: what a block gathers first waits until the action before has given its weights back.
  void join_windows() {
    std::vector<Action>& actions = stage_.role.schedule;
    for (std::uint32_t a = 0; a < actions.size(); ++a) {
      const auto first = first_on(block_of(actions[a]), Lane::kGather);
      if (!first || !block_of(actions[a]).operations[first->value].after.empty()) continue;
      for (std::uint32_t back = 1; back <= actions.size(); ++back) {  // a stage may hold no layer at all
        const std::uint32_t before = back <= a ? a - back : a + static_cast<std::uint32_t>(actions.size()) - back;
        const auto done = last_on(block_of(actions[before]), Lane::kCompute);
        if (!done) continue;
        actions[a].after.push_back({back <= a ? 0 : 1, before, *done, *first});
        break;
      }
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

  static constexpr std::uint32_t kUnwritten = 0xffffffff;

  const Program& program_;
  Stage& stage_;
  const std::vector<int>& split_;
  int microbatches_;
  std::vector<Chunk> chunks_;
  /// Blocks, by chunk.
  std::vector<std::uint32_t> first_forward_, forward_, backward_, last_backward_, input_, weight_;
  std::vector<DeferredGradients> deferred_;  ///< by chunk
  UpdateBlock update_;
  std::optional<std::uint32_t> validation_;
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

/// The roles of one stage: by the context coordinate where context ranks do not do the same, and the rank with the
/// busiest experts before the others where loads are uneven.
struct RolesOfStage {
  int context = 1, expert = 1;
  int count() const { return context * expert; }
};

std::string role_name(int stage, const RolesOfStage& of_stage, int role) {
  std::string name = "stage " + std::to_string(stage);
  if (of_stage.context > 1) name += " context " + std::to_string(role / of_stage.expert);
  if (of_stage.expert > 1) name += role % of_stage.expert == 0 ? " busiest experts" : " other experts";
  return name;
}

/// First the blocks of all roles, then the order of their calls: that may depend on what the blocks cost. `shapes` by
/// expert role.
void build_stages(Program& program, const StageInputs& inputs, const std::vector<Shapes>& shapes,
                  const RolesOfStage& of_stage, const std::vector<int>& split, const Schedule& schedule,
                  ScheduleShape shape) {
  const int roles = shape.stages * of_stage.count();
  program.roles.resize(static_cast<std::size_t>(roles));
  std::deque<StageParameters> parameters;
  std::deque<Stage> stages;
  std::deque<StageBuilder> builders;
  for (int r = 0; r < roles; ++r) {
    Role& role = program.roles[static_cast<std::size_t>(r)];
    role.stage = r / of_stage.count();
    role.name = role_name(role.stage, of_stage, r % of_stage.count());
    const Shapes& own = shapes[static_cast<std::size_t>(r % of_stage.expert)];
    parameters.emplace_back(role, own, inputs.plan, inputs.implementation, inputs.training.optimizer);
    stages.push_back({{inputs.model, inputs.training, inputs.plan, inputs.implementation, own, inputs.groups,
                       inputs.splits_backward},
                      role,
                      parameters.back()});
    stages.back().context_rank = r % of_stage.count() / of_stage.expert;
    builders.emplace_back(program, stages.back(), split, shape.microbatches);
    builders.back().write();
  }
  if (inputs.splits_backward) {
    shape.costs.resize(program.stage_of_virtual.size());
    for (const StageBuilder& builder : builders) builder.add_costs(shape.costs);
  }
  const Orders orders = schedule.orders(shape);
  for (std::size_t r = 0; r < builders.size(); ++r) {
    builders[r].arrange(orders[static_cast<std::size_t>(program.roles[r].stage)]);
  }
}

void assign_roles(Program& program, const RolesOfStage& of_stage, int busiest_rank) {
  const Mesh& mesh = program.views.front();
  const Mesh& expert_view = program.views.back();
  const int expert = expert_view.find("ep");
  const int pipeline = mesh.find("pp"), context = mesh.find("cp");
  program.role_of_rank.resize(static_cast<std::size_t>(mesh.size()));
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const int piece = of_stage.context > 1 ? mesh.coordinate({rank}, context) : 0;
    const bool other = of_stage.expert > 1 && expert_view.coordinate({rank}, expert) != busiest_rank;
    const int role = piece * of_stage.expert + (other ? 1 : 0);
    program.role_of_rank[static_cast<std::size_t>(rank)] =
        static_cast<std::uint32_t>(mesh.coordinate({rank}, pipeline) * of_stage.count() + role);
  }
}

}  // namespace

Program build_program(const ModelSpec& model, const TrainingSpec& training, const PlanSpec& plan,
                      const Implementation& implementation) {
  for (const PlanFinding& finding : check_plan(model, training, plan, implementation)) {
    if (!finding.warning) throw std::invalid_argument(finding.path + ": " + finding.message);
  }
  Implementation made = for_precision(implementation, training);
  made.context_exchange = plan.context_exchange.value_or(made.context_exchange);
  if (plan.context > 1) made.attention = made.context_attention.value_or(made.attention);
  const Schedule& schedule = *find_schedule(plan.schedule);
  const ScheduleShape shape{plan.pipeline, plan.chunks,
                            static_cast<int>(training.global_batch / (plan.data * plan.micro_batch))};
  Program program;
  program.implementation = implementation.name;
  program.views = {dense_mesh(plan)};
  program.stage_of_virtual = schedule.stage_of_virtual(shape);
  program.samples_per_step = training.global_batch;
  program.tokens_per_step = training.global_batch * training.sequence_length;
  program.balanced_context = plan.context > 1 && made.balanced_context;
  const bool validates = schedule.splits_backward && made.validates_afterwards();
  const PlanGroups groups = add_groups(program, model, plan, validates);
  const RankLoads loads = expert_loads(model, training, plan);
  std::vector<Shapes> shapes{shapes_of(model, training, plan, made)};
  if (!loads.even()) shapes.push_back(shapes_of(model, training, plan, made, false));
  const std::vector<int> split = made.balance_stages ? balanced_split(model, plan) : split_layers(model.layers, plan);
  const RolesOfStage of_stage{context_ranks_differ(plan, made) ? plan.context : 1, static_cast<int>(shapes.size())};
  build_stages(program, {model, training, plan, made, shapes.front(), groups, schedule.splits_backward}, shapes,
               of_stage, split, schedule, shape);
  assign_roles(program, of_stage, loads.busiest_rank);
  return program;
}

}  // namespace strategies
