#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "sim/breakdown.h"
#include "sim/step_simulation.h"
#include "tests/programs/expert_plans.h"
#include "tests/programs/small_plans.h"
#include "tests/sanitized.h"
#include "tests/sim/step_programs.h"

namespace sim {
namespace {

using strategies::Program;

std::int64_t of(const Breakdown& breakdown, TimeKind kind) { return breakdown[static_cast<std::size_t>(kind)]; }

Prices priced(const Program& program, const RankClasses& classes) {
  return tests::timed_prices(program, classes, 700'000, 5'000, 100'000);
}

// By role, rank by rank, folded around a slow GPU, operation by operation.
TEST(ExpertImbalance, FoldedEqualsUnfoldedToTheNanosecond) {
  for (const tests::ExpertPlan& plan : tests::sampled(tests::expert_plans())) {
    SCOPED_TRACE(plan.name);
    const Program program = plan.program();
    const StepResult unfolded = simulate_lanes(program, priced(program, single_ranks(program)));
    const StepResult by_role = simulate_lanes(program, priced(program, classes_by_role(program)));
    EXPECT_EQ(by_role.step_ns, unfolded.step_ns);
    EXPECT_EQ(by_role.mean, unfolded.mean);
    const StepResult operations = simulate_operations(program, priced(program, classes_by_role(program)));
    EXPECT_EQ(operations.step_ns, unfolded.step_ns);
    EXPECT_EQ(operations.mean, unfolded.mean);
    const RankClasses singles = single_ranks(program, {SlowGpu{strategies::Rank{program.ranks() / 2}, 0.8}});
    const RankClasses classes = folded(program, singles, std::vector<std::uint32_t>(singles.size(), 0));
    const StepResult slow = simulate_lanes(program, priced(program, singles));
    const StepResult slow_folded = simulate_lanes(program, priced(program, classes));
    EXPECT_EQ(slow_folded.step_ns, slow.step_ns);
    EXPECT_EQ(slow_folded.mean, slow.mean);
    if (HasFailure()) break;
  }
}

/// One nanosecond for every row that a product of experts multiplies, nothing else.
Prices priced_by_rows(const Program& program) {
  Prices prices = tests::timed_prices(program, 0, 0, 0);
  for (std::size_t role = 0; role < program.roles.size(); ++role) {
    for (std::size_t block = 0; block < program.roles[role].blocks.size(); ++block) {
      const auto& operations = program.roles[role].blocks[block].operations;
      for (std::size_t i = 0; i < operations.size(); ++i) {
        const auto* compute = std::get_if<strategies::Compute>(&operations[i].work);
        const auto* matmul = compute ? std::get_if<hw_models::Matmul>(&compute->kernel) : nullptr;
        const std::string& label = operations[i].origin.label;
        OperationPrice& price = prices.of[role][block][i];
        price.duration_ns = 0;
        if (matmul == nullptr || !label.starts_with("expert-")) continue;
        price.duration_ns = label.ends_with("-wgrad") ? matmul->k : matmul->m;
      }
    }
  }
  return prices;
}

// E experts on as many ranks, k choices a token. A hot expert that a share s of the tokens choose gets s T rows where
// an even router gives k T / E: its rank takes s E / k times as long, and all others wait for it.
TEST(ExpertImbalance, HotExpertByHand) {
  strategies::ModelSpec model = tests::small_experts();
  model.experts->shared_ffn = 0;
  strategies::PlanSpec plan;
  plan.data = plan.expert = 8;
  strategies::TrainingSpec training = tests::small_training();
  training.sequence_length = 2048;
  const double experts = 8, per_token = 2;
  const auto step = [&] {
    const Program program = strategies::build_program(model, training, plan, {});
    return simulate_lanes(program, priced_by_rows(program));
  };
  const StepResult balanced = step();
  EXPECT_GT(balanced.step_ns, 0);
  EXPECT_EQ(of(balanced.mean, TimeKind::kImbalance), 0);
  for (const double share : {0.25, 0.5, 0.75, 1.0}) {  // of the tokens
    const double other = (per_token - share) / (experts - 1);
    training.routing.choices.assign(8, other);
    training.routing.choices[3] = share;
    const StepResult skewed = step();
    const double slower = std::max(share * experts / per_token, 1.0);
    EXPECT_NEAR(static_cast<double>(skewed.step_ns), slower * static_cast<double>(balanced.step_ns),
                1e-3 * static_cast<double>(balanced.step_ns))
        << share;
    // Seven of eight wait while the hot one does the rest of its rows.
    const double lacking = (slower - 1) * (1 + 1 / (experts - 1)) * (experts - 1) / experts;
    EXPECT_NEAR(static_cast<double>(of(skewed.mean, TimeKind::kImbalance)),
                lacking * static_cast<double>(balanced.step_ns), 2e-3 * static_cast<double>(balanced.step_ns))
        << share;
  }
}

}  // namespace
}  // namespace sim
