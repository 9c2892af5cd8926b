#include "strategies/check_context.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "tests/programs/small_plans.h"

namespace strategies {
namespace {

struct Case {
  const char* name;
  std::function<void(TrainingSpec&, PlanSpec&, Implementation&)> change;
  std::string expected;  ///< "path: message (advice)"
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases{
      {"nothing to check", [](TrainingSpec&, PlanSpec&, Implementation&) {}, ""},
      {"divides", [](TrainingSpec&, PlanSpec& p, Implementation&) { p.context = 16; }, ""},
      {"two pieces", [](TrainingSpec&, PlanSpec& p, Implementation&) { p.context = 32; },
       "plan.context: 'context: 32' does not divide 32 tokens into equal parts: sequence_length must be a multiple of "
       "2 x "
       "context, here of 64 (use 'context: 4, 8 or 16', or 'sequence_length: 64')\n"},
      {"one piece", [](TrainingSpec&, PlanSpec& p, Implementation& i) { p.context = 32, i.balanced_context = false; },
       ""},
      {"odd sequence", [](TrainingSpec& t, PlanSpec& p, Implementation&) { t.sequence_length = 33, p.context = 2; },
       "plan.context: 'context: 2' does not divide 33 tokens into equal parts: sequence_length must be a multiple of 2 "
       "x "
       "context, here of 4 (use 'sequence_length: 32 or 36')\n"},
      {"tensor ranks divide what a context rank holds",
       [](TrainingSpec& t, PlanSpec& p, Implementation&) {
         t.sequence_length = 24, p.context = 4, p.tensor = 4, p.sequence_parallel = true;
       },
       "plan.context: 'context: 4' does not divide 24 tokens into equal parts: sequence_length must be a multiple of 2 "
       "x "
       "context and of context x tensor, here of 16 (use 'context: 1, 2, 3 or 6', or 'sequence_length: 16 or 32')\n"},
      {"key-value heads",
       [](TrainingSpec&, PlanSpec& p, Implementation&) {
         p.context = 4, p.tensor = 2, p.context_exchange = ContextExchange::kAllToAll;
       },
       "plan.context: the all-to-all exchange deals a tensor rank's 4 heads and 2 key-value heads out to the context "
       "ranks: 'context: 4' must divide both (use 'context: 1 or 2', or 'context_exchange: ring' or 'all-gather')\n"},
      {"the stack's exchange, the plan's first",
       [](TrainingSpec&, PlanSpec& p, Implementation& i) {
         p.context = 8, i.context_exchange = ContextExchange::kAllToAll, p.context_exchange = ContextExchange::kRing;
       },
       ""},
      {"unfused",
       [](TrainingSpec&, PlanSpec& p, Implementation& i) {
         p.context = 2, i.attention = hw_models::AttentionKernel::kUnfused;
       },
       "plan.context: context parallelism puts the outputs of kernels together by their log-sum-exps, which "
       "'megatron-core' with unfused attention does not have (use 'context: 1' or software with 'context_attention: "
       "flash')\n"},
      {"useless exchange",
       [](TrainingSpec&, PlanSpec& p, Implementation&) { p.context_exchange = ContextExchange::kRing; },
       "warning plan.context_exchange: an exchange does nothing with 'context: 1' ()\n"}};
  return kCases;
}

TEST(CheckContext, SaysTheRuleAndTheNearestPlan) {
  for (const Case& c : cases()) {
    TrainingSpec training = tests::small_training();
    PlanSpec plan;
    Implementation implementation;
    c.change(training, plan, implementation);
    std::vector<PlanFinding> findings;
    check_context(tests::small_model(), training, plan, implementation, findings);
    std::string text;
    for (const PlanFinding& f : findings) {
      text += (f.warning ? "warning " : "") + f.path + ": " + f.message + " (" + f.advice + ")\n";
    }
    EXPECT_EQ(text, c.expected) << c.name;
  }
}

TEST(CheckContext, ARingKnowsNoWindows) {
  ModelSpec model = tests::small_model();
  model.window = {.tokens = 8};
  PlanSpec plan;
  plan.context = 2;
  for (const auto& [exchange, refused] :
       {std::pair{ContextExchange::kRing, true}, std::pair{ContextExchange::kAllGather, false},
        std::pair{ContextExchange::kAllToAll, false}}) {
    plan.context_exchange = exchange;
    const auto findings = check_plan(model, tests::small_training(), plan, {});
    ASSERT_EQ(findings.size(), refused ? 1u : 0u);
    EXPECT_EQ(refused ? findings.front().path : "plan.context_exchange", "plan.context_exchange");
  }
  model.window->tokens = 32;  // nothing is out of sight
  plan.context_exchange = ContextExchange::kRing;
  EXPECT_TRUE(check_plan(model, tests::small_training(), plan, {}).empty());
}

TEST(CheckContext, UpProjectionsAreComputedAgainWhereTheBufferIsTheRanksOwn) {
  PlanSpec plan;
  plan.context = 2;
  plan.recompute = Recompute::kUpProjection;
  for (const auto exchange : {ContextExchange::kRing, ContextExchange::kAllGather, ContextExchange::kAllToAll}) {
    plan.context_exchange = exchange;
    const auto findings = check_plan(tests::small_latent(), tests::small_training(), plan, {});
    EXPECT_EQ(findings.empty(), exchange == ContextExchange::kAllGather);
  }
}

}  // namespace
}  // namespace strategies
