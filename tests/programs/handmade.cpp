#include "tests/programs/handmade.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tests {
namespace {

using namespace strategies;  // NOLINT(google-build-using-namespace): every name here is the Program's
using hw_models::Bytes;

constexpr std::int64_t kMega = 1'000'000;

/// Writes one operation.
class Op {
 public:
  explicit Op(Operation like) : operation_(std::move(like)) {}
  Op(Work work, Lane lane, Phase phase, std::string label) {
    operation_.work = std::move(work);
    operation_.lane = lane;
    operation_.origin = {-1, phase, std::move(label)};
  }
  Op& after(std::initializer_list<std::uint32_t> earlier) {
    for (const std::uint32_t i : earlier) operation_.after.push_back({i});
    return *this;
  }
  Op& reads(std::vector<BufferId> buffers) { return operation_.reads = std::move(buffers), *this; }
  Op& writes(std::vector<BufferId> buffers) { return operation_.writes = std::move(buffers), *this; }
  Op& allocates(std::vector<BufferId> buffers) { return operation_.allocates = std::move(buffers), *this; }
  Op& frees(std::vector<BufferId> buffers) { return operation_.frees = std::move(buffers), *this; }
  operator Operation() const { return operation_; }  // NOLINT(google-explicit-constructor)

 private:
  Operation operation_;
};

Op compute(double milliseconds, Phase phase, std::string label) {
  return {Compute{hw_models::Measured{milliseconds * 1e-3}}, Lane::kCompute, phase, std::move(label)};
}

Op collective(CollectiveKind kind, std::uint32_t group, std::int64_t bytes, Lane lane, Phase phase, std::string label) {
  Collective work;
  work.kind = kind;
  work.group = {group};
  work.bytes = Bytes(bytes);
  return {work, lane, phase, std::move(label)};
}

Op host(HostReason reason) { return {Host{reason, 0}, Lane::kHost, Phase::kOther, strategies::name(reason)}; }

BufferId buffer(Role& role, std::string name, std::int64_t bytes, Holds holds, Lifetime lifetime) {
  Buffer added;
  added.name = std::move(name);
  added.size = Bytes(bytes);
  added.holds = holds;
  added.lifetime = lifetime;
  role.buffers.push_back(std::move(added));
  return {static_cast<std::uint32_t>(role.buffers.size() - 1)};
}

/// The buffers nearly every role has.
struct Basics {
  explicit Basics(Role& role)
      : weights(buffer(role, "weights", 20 * kMega, Holds::kWeights, Lifetime::kStatic)),
        gradients(buffer(role, "gradients", 40 * kMega, Holds::kGradients, Lifetime::kStatic)),
        optimizer(buffer(role, "optimizer", 120 * kMega, Holds::kOptimizerState, Lifetime::kStatic)),
        kept(buffer(role, "kept", 8 * kMega, Holds::kActivations, Lifetime::kMicrobatch)) {}
  BufferId weights, gradients, optimizer, kept;
};

Block block(BlockKind kind, int chunk, int virtual_stage, std::vector<Operation> operations) {
  Block made;
  made.kind = kind;
  made.chunk = chunk;
  made.virtual_stage = virtual_stage;
  made.operations = std::move(operations);
  return made;
}

Action call(std::uint32_t block_index, int microbatch, std::vector<CrossDependence> after = {}) {
  return {block_index, microbatch, std::move(after)};
}

Op update(const Basics& basics) {
  return compute(0.5, Phase::kUpdate, "adam")
      .reads({basics.gradients, basics.optimizer})
      .writes({basics.weights, basics.optimizer});
}

/// A Program of `views` whose roles and rank table the caller fills.
Program program(std::vector<Mesh> views, std::vector<Group> groups, std::int64_t samples) {
  Program made;
  made.implementation = "by hand";
  made.role_of_rank.assign(static_cast<std::size_t>(views.front().size()), 0);
  made.views = std::move(views);
  made.groups = std::move(groups);
  made.stage_of_virtual = {0};
  made.samples_per_step = samples;
  made.tokens_per_step = samples * 2048;
  return made;
}

// ---- Pipelines ----------------------------------------------------------------------------------------------------

/// Buffers, receive, compute and send of one stage of a pipeline with one chunk per stage.
class Stage {
 public:
  Stage(int stage, int stages) : stage_(stage), stages_(stages) {
    role.name = "stage " + std::to_string(stage);
    role.stage = stage;
    basics_.emplace_back(role);
    const auto add = [this](const char* name) {
      return buffer(role, name, 2 * kMega, Holds::kActivations, Lifetime::kMicrobatch);
    };
    if (!is_first()) input_ = {add("input")}, input_gradient_ = {add("input-gradient")};
    if (!is_last()) output_ = {add("output")}, output_gradient_ = {add("output-gradient")};
  }

  Block forward() const {
    std::vector<Operation> operations;
    if (!is_first()) operations.push_back(receive(stage_ - 1, Payload::kActivation, Lane::kReceivePrevious, input_));
    Op layers = compute(1, Phase::kForward, "layers");
    layers.reads(joined({basics().weights}, input_)).writes(joined({basics().kept}, output_));
    layers.allocates(joined({basics().kept}, output_));
    if (!is_first()) layers.after({0});
    operations.push_back(layers);
    if (!is_last()) push_send(operations, stage_ + 1, Payload::kActivation, Lane::kSendNext, output_);
    return block(BlockKind::kForward, 0, stage_, operations);
  }

  /// `weights`: the weight gradients are computed here as well; otherwise activations stay for weight_gradients().
  Block backward(bool weights) const {
    std::vector<Operation> operations;
    if (!is_last()) {
      operations.push_back(receive(stage_ + 1, Payload::kGradient, Lane::kReceiveNext, output_gradient_));
    }
    Op layers = compute(weights ? 2 : 1, Phase::kBackward, "layers");
    layers.reads(joined(joined({basics().weights, basics().kept}, input_), output_gradient_));
    layers.writes(joined(weights ? std::vector{basics().gradients} : std::vector<BufferId>{}, input_gradient_));
    layers.allocates(input_gradient_);
    if (weights) layers.frees(joined(joined({basics().kept}, input_), output_gradient_));
    if (!is_last()) layers.after({0});
    operations.push_back(layers);
    if (!is_first()) push_send(operations, stage_ - 1, Payload::kGradient, Lane::kSendPrevious, input_gradient_);
    return block(weights ? BlockKind::kBackward : BlockKind::kBackwardInput, 0, stage_, operations);
  }

  Block weight_gradients() const {
    const std::vector<BufferId> last_use = joined(joined({basics().kept}, input_), output_gradient_);
    const Operation layers =
        compute(1, Phase::kWeightGradient, "layers").reads(last_use).writes({basics().gradients}).frees(last_use);
    return block(BlockKind::kBackwardWeight, 0, stage_, {layers});
  }

  /// Reductions of `groups`, one after the other, then the optimizer.
  Block update(std::initializer_list<std::uint32_t> groups) const {
    std::vector<Operation> operations;
    for (const std::uint32_t group : groups) {
      operations.push_back(
          collective(CollectiveKind::kAllReduce, group, 40 * kMega, Lane::kData, Phase::kReduce, "gradients")
              .reads({basics().gradients})
              .writes({basics().gradients}));
    }
    operations.push_back(host(HostReason::kGradientNorm));
    operations.push_back(tests::update(basics()));
    return block(BlockKind::kUpdate, 0, stage_, operations);
  }

  Role role;

 private:
  bool is_first() const { return stage_ == 0; }
  bool is_last() const { return stage_ == stages_ - 1; }
  const Basics& basics() const { return basics_.front(); }

  static std::vector<BufferId> joined(std::vector<BufferId> a, const std::vector<BufferId>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  static Operation receive(int from, Payload payload, Lane lane, const std::vector<BufferId>& into) {
    return Op(Receive{from, Bytes(2 * kMega), payload}, lane, Phase::kOther, "receive").writes(into).allocates(into);
  }
  static void push_send(std::vector<Operation>& operations, int to, Payload payload, Lane lane,
                        const std::vector<BufferId>& what) {
    operations.push_back(Op(Send{to, Bytes(2 * kMega), payload}, lane, Phase::kOther, "send")
                             .after({static_cast<std::uint32_t>(operations.size() - 1)})
                             .reads(what)
                             .frees(what));
  }

  int stage_, stages_;
  std::vector<Basics> basics_;
  std::vector<BufferId> input_, output_, input_gradient_, output_gradient_;  ///< one or none
};

/// Block 0 forwards, block 1 backwards, block 2 updates: `warmup` forwards first, then in turns. Where the update
/// begins with a reduction, that waits for the computation of the last backward.
std::vector<Action> one_forward_one_backward(const Role& role, int warmup, int microbatches) {
  std::vector<Action> actions;
  for (int m = 0; m < std::min(warmup, microbatches); ++m) actions.push_back(call(0, m));
  for (int m = 0; m < microbatches; ++m) {
    if (m + warmup < microbatches) actions.push_back(call(0, m + warmup));
    actions.push_back(call(1, m));
  }
  actions.push_back(call(2, -1));
  if (std::holds_alternative<Collective>(role.blocks[2].operations.front().work)) {
    const bool receives = std::holds_alternative<Receive>(role.blocks[1].operations.front().work);
    const auto last_backward = static_cast<std::uint32_t>(actions.size() - 2);
    actions.back().after = {{0, last_backward, {receives ? 1U : 0U}, {0}}};
  }
  return actions;
}

std::vector<int> consecutive(int count) {
  std::vector<int> values;
  for (int i = 0; i < count; ++i) values.push_back(i);
  return values;
}

Program pipeline_of_two() { return pipeline(2, 4); }
Program pipeline_of_four() { return pipeline(4, 6); }

}  // namespace

Program single_rank() {
  Program made = program({Mesh{{{"dp", 1}}}}, {}, 2);
  Role role;
  role.name = "all";
  const Basics basics(role);
  const BufferId scratch = buffer(role, "scratch", kMega, Holds::kWorkspace, Lifetime::kBlock);
  hw_models::Matmul matmul;
  matmul.m = 2048, matmul.n = 4096, matmul.k = 1024;
  const Operation product = Op(Compute{matmul}, Lane::kCompute, Phase::kForward, "mlp")
                                .reads({basics.weights})
                                .writes({scratch})
                                .allocates({scratch});
  const Operation loss = compute(1, Phase::kForward, "loss")
                             .reads({scratch})
                             .writes({basics.kept})
                             .allocates({basics.kept})
                             .frees({scratch});
  const Operation backward =
      compute(2, Phase::kBackward, "mlp").reads({basics.kept}).writes({basics.gradients}).frees({basics.kept});
  role.blocks = {
      block(BlockKind::kForward, 0, 0, {product, loss}),
      block(BlockKind::kBackward, 0, 0, {backward}),
      block(BlockKind::kUpdate, 0, 0, {host(HostReason::kGradientNorm), update(basics), host(HostReason::kLossRead)}),
  };
  role.schedule = {call(0, 0), call(1, 0), call(0, 1), call(1, 1), call(2, -1)};
  made.roles = {role};
  return made;
}

Program data_parallel() {
  Program made = program({Mesh{{{"dp", 2}}}}, {Group{"dp", 0, {{0, {}}}}}, 4);
  Role role;
  role.name = "all";
  const Basics basics(role);
  const Operation forward =
      compute(1, Phase::kForward, "layers").reads({basics.weights}).writes({basics.kept}).allocates({basics.kept});
  const Operation upper =
      compute(1, Phase::kBackward, "upper").reads({basics.weights, basics.kept}).writes({basics.gradients});
  const Operation lower = compute(1, Phase::kBackward, "lower")
                              .reads({basics.weights, basics.kept})
                              .writes({basics.gradients})
                              .frees({basics.kept});
  const auto reduce = [&](std::uint32_t after) -> Operation {
    return collective(CollectiveKind::kAllReduce, 0, 20 * kMega, Lane::kData, Phase::kReduce, "bucket")
        .after({after})
        .reads({basics.gradients})
        .writes({basics.gradients});
  };
  Block last = block(BlockKind::kBackward, 0, 0, {upper, reduce(0), lower, reduce(2)});
  last.variant = Variant::kLast;
  role.blocks = {
      block(BlockKind::kForward, 0, 0, {forward}),
      block(BlockKind::kBackward, 0, 0, {upper, lower}),
      last,
      block(BlockKind::kUpdate, 0, 0, {update(basics), host(HostReason::kLossRead)}),
  };
  // The second bucket follows the first on its lane; waiting for it is waiting for both.
  role.schedule = {call(0, 0), call(1, 0), call(0, 1), call(2, 1), call(3, -1, {{0, 3, {3}, {0}}})};
  made.roles = {role};
  return made;
}

Program pipeline(int stages, int microbatches) {
  std::vector<Group> groups;
  if (stages > 1) groups = {Group{"embedding", 0, {{0, {0, stages - 1}}}}};
  Program made = program({Mesh{{{"pp", stages}}}}, groups, microbatches);
  made.stage_of_virtual = consecutive(stages);
  for (int s = 0; s < stages; ++s) {
    Stage stage(s, stages);
    const bool tied = stages > 1 && (s == 0 || s == stages - 1);
    stage.role.blocks = {stage.forward(), stage.backward(true), tied ? stage.update({0}) : stage.update({})};
    stage.role.schedule = one_forward_one_backward(stage.role, stages - 1 - s, microbatches);
    made.roles.push_back(stage.role);
    made.role_of_rank[static_cast<std::size_t>(s)] = static_cast<std::uint32_t>(s);
  }
  return made;
}

Program split_backward() {
  Program made = program({Mesh{{{"pp", 2}}}}, {}, 4);
  made.stage_of_virtual = {0, 1};
  made.role_of_rank = {0, 1};
  for (int s = 0; s < 2; ++s) {
    Stage stage(s, 2);
    stage.role.blocks = {stage.forward(), stage.backward(false), stage.weight_gradients(), stage.update({})};
    made.roles.push_back(stage.role);
  }
  // Stage 0 fills with W what would be its bubbles.
  made.roles[0].schedule = {call(0, 0), call(0, 1), call(1, 0), call(0, 2), call(1, 1), call(2, 0), call(0, 3),
                            call(1, 2), call(2, 1), call(1, 3), call(2, 2), call(2, 3), call(3, -1)};
  made.roles[1].schedule = {call(0, 0), call(1, 0), call(2, 0), call(0, 1), call(1, 1), call(2, 1), call(0, 2),
                            call(1, 2), call(2, 2), call(0, 3), call(1, 3), call(2, 3), call(3, -1)};
  return made;
}

Program gathered_parameters() {
  Program made = program({Mesh{{{"dp", 2}}}}, {Group{"dp", 0, {{0, {}}}}}, 4);
  made.stage_of_virtual = {0, 0};
  Role role;
  role.name = "all";
  const Basics basics(role);
  const BufferId between = buffer(role, "between", 2 * kMega, Holds::kActivations, Lifetime::kMicrobatch);
  const BufferId lower = buffer(role, "lower-weights", 10 * kMega, Holds::kWeights, Lifetime::kStatic);
  const BufferId upper = buffer(role, "upper-weights", 10 * kMega, Holds::kWeights, Lifetime::kMicrobatch);
  const auto gather = [&](BufferId into) {
    return collective(CollectiveKind::kAllGather, 0, 10 * kMega, Lane::kGather, Phase::kGather, "parameters")
        .reads({basics.weights})
        .writes({into});
  };
  const Operation forward_lower =
      compute(1, Phase::kForward, "lower").reads({lower}).writes({between}).allocates({between});
  const Operation forward_upper =
      compute(1, Phase::kForward, "upper").reads({upper, between}).writes({basics.kept}).allocates({basics.kept});
  const Operation backward_upper =
      compute(2, Phase::kBackward, "upper").reads({upper, basics.kept}).writes({between}).frees({upper, basics.kept});
  const Operation backward_lower =
      compute(2, Phase::kBackward, "lower").reads({lower, between}).writes({basics.gradients}).frees({between});
  const Operation reduce =
      collective(CollectiveKind::kReduceScatter, 0, 40 * kMega, Lane::kData, Phase::kReduce, "gradients")
          .reads({basics.gradients})
          .writes({basics.gradients});
  role.blocks = {
      block(BlockKind::kForward, 0, 0, {gather(upper).allocates({upper}), forward_lower}),
      block(BlockKind::kForward, 1, 1, {forward_upper}),
      block(BlockKind::kBackward, 1, 1, {backward_upper}),
      block(BlockKind::kBackward, 0, 0, {backward_lower}),
      block(BlockKind::kUpdate, 0, 0, {reduce, Op(update(basics)).after({0}), gather(lower).after({1})}),
  };
  for (int m = 0; m < 2; ++m) {
    const auto base = static_cast<std::uint32_t>(4 * m);
    role.schedule.push_back(call(0, m, {{1, 8, {2}, {1}}}));     // lower weights: the update of the step before
    role.schedule.push_back(call(1, m, {{0, base, {0}, {0}}}));  // upper weights: the action before
    role.schedule.push_back(call(2, m));
    role.schedule.push_back(call(3, m));
  }
  role.schedule.push_back(call(4, -1, {{0, 7, {0}, {0}}}));
  made.roles = {role};
  return made;
}

Program expert_parallel() {
  Program made = program({Mesh{{{"tp", 2}, {"dp", 4}}}, Mesh{{{"etp", 1}, {"ep", 4}, {"edp", 2}}}},
                         {Group{"dp", 0, {{1, {}}}}, Group{"ep", 1, {{1, {}}}}, Group{"edp", 1, {{2, {}}}}}, 4);
  Role role;
  role.name = "all";
  const Basics basics(role);
  const BufferId routed = buffer(role, "routed", 4 * kMega, Holds::kWorkspace, Lifetime::kBlock);
  const auto exchange = [](const char* label, std::uint32_t after) {
    Collective work;
    work.kind = CollectiveKind::kAllToAll;
    work.group = {1};
    work.bytes = Bytes(4 * kMega);
    work.member_bytes = {Bytes(4 * kMega), Bytes(3 * kMega), Bytes(2 * kMega), Bytes(kMega)};
    return Op(work, Lane::kExpert, Phase::kForward, label).after({after});
  };
  const Operation route =
      compute(0.5, Phase::kForward, "route").reads({basics.weights}).writes({routed}).allocates({routed});
  const Operation experts = compute(1, Phase::kForward, "experts").after({1}).reads({routed}).writes({routed});
  const Operation combine = compute(0.5, Phase::kForward, "combine")
                                .after({3})
                                .reads({routed})
                                .writes({basics.kept})
                                .allocates({basics.kept})
                                .frees({routed});
  const Operation backward =
      compute(4, Phase::kBackward, "layer").reads({basics.kept}).writes({basics.gradients}).frees({basics.kept});
  const auto reduce = [&](std::uint32_t group, Lane lane) -> Operation {
    return collective(CollectiveKind::kAllReduce, group, 20 * kMega, lane, Phase::kReduce, "gradients")
        .reads({basics.gradients})
        .writes({basics.gradients});
  };
  role.blocks = {
      block(BlockKind::kForward, 0, 0,
            {route, exchange("dispatch", 0).reads({routed}).writes({routed}), experts,
             exchange("combine", 2).reads({routed}).writes({routed}), combine}),
      block(BlockKind::kBackward, 0, 0, {backward}),
      block(BlockKind::kUpdate, 0, 0,
            {reduce(0, Lane::kData), reduce(2, Lane::kData), Op(update(basics)).after({0, 1})}),
  };
  role.schedule = {call(0, 0), call(1, 0), call(2, -1, {{0, 1, {0}, {0}}})};
  made.roles = {role};
  return made;
}

Program context_parallel() {
  Program made = program({Mesh{{{"cp", 4}}}}, {Group{"cp", 0, {{0, {}}}}}, 1);
  Role role;
  role.name = "all";
  const Basics basics(role);
  const BufferId remote = buffer(role, "remote-kv", 6 * kMega, Holds::kWorkspace, Lifetime::kBlock);
  const auto piece = [&](const char* label) {
    return collective(CollectiveKind::kAllGather, 0, 4 * kMega, Lane::kContext, Phase::kForward, label)
        .writes({remote});
  };
  const Operation local =
      compute(1, Phase::kForward, "local").reads({basics.weights}).writes({basics.kept}).allocates({basics.kept});
  const auto attend = [&](const char* label, std::uint32_t after) {
    return compute(1, Phase::kForward, label).after({after}).reads({remote}).writes({basics.kept});
  };
  const Operation backward = compute(6, Phase::kBackward, "attention")
                                 .reads({basics.kept})
                                 .writes({basics.gradients, remote})
                                 .allocates({remote})
                                 .frees({basics.kept});
  const Operation scatter =
      collective(CollectiveKind::kReduceScatter, 0, 8 * kMega, Lane::kContext, Phase::kBackward, "kv-gradients")
          .after({0})
          .reads({remote})
          .frees({remote});
  role.blocks = {
      block(BlockKind::kForward, 0, 0,
            {piece("kv-0").allocates({remote}), local, piece("kv-1"), attend("remote-0", 0),
             attend("remote-1", 2).frees({remote})}),
      block(BlockKind::kBackward, 0, 0, {backward, scatter}),
      block(BlockKind::kUpdate, 0, 0, {update(basics)}),
  };
  role.schedule = {call(0, 0), call(1, 0), call(2, -1, {{0, 1, {1}, {0}}})};
  made.roles = {role};
  return made;
}

Program unequal_replicas() {
  Program made = program({Mesh{{{"dp", 2}, {"pp", 2}}}}, {Group{"dp", 0, {{0, {}}}}}, 6);
  made.stage_of_virtual = {0, 1};
  for (int s = 0; s < 2; ++s) {
    for (int replica = 0; replica < 2; ++replica) {
      Stage stage(s, 2);
      stage.role.name += ", replica " + std::to_string(replica);
      stage.role.blocks = {stage.forward(), stage.backward(true), stage.update({0})};
      stage.role.schedule =
          replica == 0 ? one_forward_one_backward(stage.role, 1 - s, 4) : one_forward_one_backward(stage.role, 2, 2);
      made.roles.push_back(stage.role);
    }
  }
  made.role_of_rank = {0, 1, 2, 3};
  return made;
}

std::span<const HandmadeProgram> handmade_programs() {
  static constexpr std::array<HandmadeProgram, 9> kPrograms{{{"single_rank", single_rank},
                                                             {"data_parallel", data_parallel},
                                                             {"pipeline_2", pipeline_of_two},
                                                             {"pipeline_4", pipeline_of_four},
                                                             {"split_backward", split_backward},
                                                             {"gathered_parameters", gathered_parameters},
                                                             {"expert_parallel", expert_parallel},
                                                             {"context_parallel", context_parallel},
                                                             {"unequal_replicas", unequal_replicas}}};
  return kPrograms;
}

}  // namespace tests
