#include "strategies/transformer/experts.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "strategies/program/check.h"
#include "strategies/program/fingerprint.h"
#include "strategies/program/text.h"
#include "tests/programs/expert_plans.h"
#include "tests/programs/small_plans.h"
#include "tests/sanitized.h"

namespace strategies {
namespace {

TEST(Experts, EveryPlanIsWellFormed) {
  for (const tests::ExpertPlan& plan : tests::sampled(tests::expert_plans())) {
    const Program program = plan.program();
    EXPECT_EQ(check_program(program), std::vector<std::string>{}) << plan.name;
    EXPECT_EQ(parse_program(print_program(program)), program) << plan.name;
  }
}

template <class Visit>
void for_each_operation(const Role& role, Visit visit) {
  for (const Action& action : role.schedule) {
    for (const Operation& operation : role.blocks[action.block].operations) visit(operation);
  }
}

double matmul_flops(const Program& program) {
  double flops = 0;
  for (const std::uint32_t role : program.role_of_rank) {
    for_each_operation(program.roles[role], [&](const Operation& operation) {
      const auto* compute = std::get_if<Compute>(&operation.work);
      const auto* matmul = compute ? std::get_if<hw_models::Matmul>(&compute->kernel) : nullptr;
      if (matmul) flops += 2.0 * static_cast<double>(matmul->m * matmul->n * matmul->k * matmul->batch);
    });
  }
  return flops;
}

// 6 x active matrices per token, shared gates aside, which are no products here.
TEST(Experts, MultiplyWhatTokensChoose) {
  for (tests::ExpertPlan plan : tests::expert_plans()) {
    const bool rounded = plan.training.routing.exponent > 0 || plan.model.experts->capacity_factor > 0;
    if (rounded || plan.plan.recompute != Recompute::kNone) continue;
    plan.implementation.vocabulary_multiple = 0;
    plan.model.experts->shared_gate = false;
    const TokenFlops flops = training_flops_per_token(plan.model, plan.training.sequence_length);
    const Program program = plan.program();
    EXPECT_DOUBLE_EQ(matmul_flops(program), flops.dense * static_cast<double>(program.tokens_per_step)) << plan.name;
  }
}

// The experts of a layer are on one group's ranks together, once.
TEST(Experts, HoldEveryParameterOnce) {
  for (tests::ExpertPlan plan : tests::expert_plans()) {
    // Extra prediction layers are not in the totals.
    if (plan.training.scaling != Scaling::kUsual || plan.model.extra_prediction_layers > 0) continue;
    plan.implementation.vocabulary_multiple = 0;
    const Program program = plan.program();
    std::map<std::string, std::int64_t> elements;
    for (const Role& role : program.roles) {
      for (const Buffer& buffer : role.buffers) {
        const TensorSlice& slice = buffer.slice;
        if (buffer.holds != Holds::kWeights || slice.parameter.empty()) continue;
        std::int64_t whole = 1;
        for (const std::int64_t extent : slice.shape) whole *= extent;
        const bool expert = slice.expert_ranks > 0;
        const int tensor = expert ? plan.plan.tensor_of_experts() : plan.plan.tensor;
        const int ranks = (slice.sharded_axis >= 0 ? tensor : 1) * (expert ? plan.plan.expert : 1);
        EXPECT_EQ(buffer.size.value() * ranks, whole * 2) << plan.name << " " << buffer.name;
        elements[slice.parameter] = whole;
      }
    }
    std::int64_t sum = 0;
    for (const auto& [name, count] : elements) sum += count;
    EXPECT_EQ(sum, count_parameters(plan.model).total) << plan.name;
  }
}

std::vector<int> values(const std::vector<Rank>& ranks) {
  std::vector<int> result;
  for (const Rank rank : ranks) result.push_back(rank.value);
  return result;
}

// Megatron-Core: order tp-cp-ep-dp-pp, tensor 2, data 4, pipeline 2, expert 4, expert tensor 1.
TEST(Experts, ViewOfTheSameRanks) {
  PlanSpec plan;
  plan.tensor = 2, plan.data = 4, plan.pipeline = 2, plan.expert = 4, plan.expert_tensor = 1;
  plan.sequence_parallel = true;
  const Program program = build_program(tests::small_experts(), tests::small_training(), plan, {});
  std::map<std::string, std::vector<int>> groups;
  for (const Group& group : program.groups) {
    const Mesh& mesh = program.views[static_cast<std::size_t>(group.view)];
    groups[group.name] = values(group.members(mesh, Rank{9}));
  }
  EXPECT_EQ(groups["tensor"], (std::vector{8, 9}));
  EXPECT_EQ(groups["data"], (std::vector{9, 11, 13, 15}));
  EXPECT_EQ(groups["expert"], (std::vector{8, 9, 10, 11}));
  EXPECT_EQ(groups["expert data"], (std::vector{9, 13}));
  EXPECT_EQ(groups["expert tensor"], (std::vector{9}));
}

/// Bytes by group and kind, of one rank in a step.
std::map<std::string, std::int64_t> moved(const Program& program, std::size_t role) {
  std::map<std::string, std::int64_t> bytes;
  for_each_operation(program.roles[role], [&](const Operation& operation) {
    const auto* collective = std::get_if<Collective>(&operation.work);
    if (collective == nullptr) return;
    bytes[program.groups[collective->group.value].name + " " + name(collective->kind)] += collective->bytes.value();
  });
  return bytes;
}

// Per layer of experts and microbatch: four all-to-alls of T k rows, four exchanges of T k expert_tensor rows over the
// expert tensor ranks; gradients over the experts' own replicas.
TEST(Experts, ExchangeAndReduceByHand) {
  PlanSpec plan;
  plan.tensor = 2, plan.data = 4, plan.expert = 2, plan.zero = 1, plan.sequence_parallel = true;
  const ModelSpec model = tests::small_experts();
  const Program program = build_program(model, tests::small_training(), plan, {});
  const std::map<std::string, std::int64_t> bytes = moved(program, 0);
  const std::int64_t layers = 7, microbatches = 4, rows = 32 / 2 * 2, row = 64 * 2;
  EXPECT_EQ(bytes.at("expert all-to-all"), layers * microbatches * 4 * rows * row);
  EXPECT_EQ(bytes.at("expert tensor all-gather"), layers * microbatches * 2 * rows * 2 * row);
  EXPECT_EQ(bytes.at("expert tensor reduce-scatter"), layers * microbatches * 2 * rows * 2 * row);
  const std::int64_t own = layers * 8 * 3 * 32 * 64 / (2 * 2);  // of 8 experts, three matrices each
  EXPECT_EQ(bytes.at("expert data reduce-scatter"), own * 4);
  EXPECT_EQ(bytes.at("expert data all-gather"), own * 2);
}

// A router that chooses evenly needs no other program than none.
TEST(Experts, ExponentZeroIsBalanced) {
  for (tests::ExpertPlan plan : tests::expert_plans()) {
    if (plan.training.routing.exponent > 0) continue;
    const std::string balanced = fingerprint(plan.program());
    plan.training.routing.choices.assign(static_cast<std::size_t>(plan.model.experts->experts), 3.0);
    EXPECT_EQ(fingerprint(plan.program()), balanced) << plan.name;
  }
}

// The host waits for counts, unless sizes are fixed.
TEST(Experts, CapacityNeedsNoCounts) {
  for (const double capacity : {0.0, 2.0}) {
    ModelSpec model = tests::small_experts();
    model.experts->capacity_factor = capacity;
    PlanSpec plan;
    plan.data = plan.expert = 2;
    TrainingSpec training = tests::small_training();
    training.routing.exponent = 1;
    const Program program = build_program(model, training, plan, {});
    int counts = 0;
    std::int64_t exchanged = 0;
    for_each_operation(program.roles.front(), [&](const Operation& operation) {
      const auto* host = std::get_if<Host>(&operation.work);
      counts += host && host->reason == HostReason::kTokenCounts ? 1 : 0;
      const auto* collective = std::get_if<Collective>(&operation.work);
      if (collective && operation.lane == Lane::kExpert) exchanged = collective->bytes.value();
    });
    EXPECT_EQ(counts, capacity > 0 ? 0 : 7 * 8);                      // layers x microbatches
    EXPECT_EQ(exchanged, (capacity > 0 ? 8 * 16 : 32 * 2) * 64 * 2);  // 8 experts of 2 x 32 x 2 / 8 rows
    EXPECT_EQ(program.roles.size(), capacity > 0 ? 1U : 2U);
  }
}

}  // namespace
}  // namespace strategies
