#include "strategies/check_experts.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/programs/expert_plans.h"
#include "tests/programs/small_plans.h"

namespace strategies {
namespace {

struct Case {
  const char* name;
  std::function<void(ModelSpec&, TrainingSpec&, PlanSpec&)> change;
  std::string finding;  ///< "path: message (advice)"
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"sound", [](ModelSpec&, TrainingSpec&, PlanSpec&) {}, ""},
      {"no experts", [](ModelSpec& m, TrainingSpec&, PlanSpec&) { m.experts.reset(); },
       "plan.expert: 'small-experts' has no experts to spread over ranks (use 1)"},
      {"experts that do not divide", [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.expert = 3; },
       "plan.expert: 'expert: 3' does not divide the model's 8 experts (use 1, 2, 4 or 8)"},
      {"more than the ranks", [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.expert = 8; },
       "plan.expert: a stage's tensor x context x data = 8 ranks are not a multiple of expert_tensor x expert = 2 x 8 "
       "(use 1, 2 or 4)"},
      {"more tensor ranks than there are", [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.expert_tensor = 16; },
       "plan.expert_tensor: a stage's tensor x context x data = 8 ranks are not a multiple of expert_tensor x expert = "
       "16 x 4 (use expert_tensor 2, 4 or 8)"},
      {"columns", [](ModelSpec& m, TrainingSpec&, PlanSpec&) { m.experts->ffn = 31; },
       "plan.expert_tensor: 'expert_tensor: 2' does not divide the model's 31 columns of an expert (use 1 or 31)"},
      {"shared columns", [](ModelSpec& m, TrainingSpec&, PlanSpec&) { m.experts->shared_ffn = 33; },
       "plan.tensor: 'tensor: 2' does not divide the model's 33 columns of the shared experts (use 1, 3, 11 or 33)"},
      {"stages that differ", [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.rank_order = "tp-cp-ep-pp-dp"; },
       "plan.rank_order: 'rank_order: tp-cp-ep-pp-dp' puts 2 ranks before pp, but 8 of the experts' view: a stage "
       "would "
       "not have the same ranks in both (put pp last: tp-cp-ep-dp-pp)"},
      {"whole sequences", [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.sequence_parallel = false; },
       "plan.sequence_parallel: tensor ranks route their own tokens to the experts, so the sequence must be split over "
       "them (use 'sequence_parallel: true' or 'tensor: 1')"},
      {"ZeRO 3", [](ModelSpec&, TrainingSpec&, PlanSpec& p) { p.zero = 3; },
       "plan.zero: ZeRO 2 and 3 are not supported with experts by this version (use 'zero: 1')"},
      {"too few counts",
       [](ModelSpec&, TrainingSpec& t, PlanSpec&) {
         t.routing.choices = {1, 2};
       },
       "training.routing: 'routing' counts the choices of 2 experts, a layer has 8 (give one number for each expert)"},
      {"chosen twice", [](ModelSpec&, TrainingSpec& t, PlanSpec&) { t.routing.choices = {8, 1, 1, 1, 1, 1, 1, 1}; },
       "training.routing: a token chooses an expert once: none can have more than 1 / 2 of all choices (check the "
       "counts)"},
  };
  return all;
}

TEST(CheckExperts, SaysTheRuleAndTheWayOut) {
  for (const Case& each : cases()) {
    ModelSpec model = tests::small_experts();
    TrainingSpec training = tests::small_training();
    PlanSpec plan;
    plan.tensor = 2, plan.data = 4, plan.pipeline = 2, plan.expert = 4, plan.sequence_parallel = true;
    each.change(model, training, plan);
    std::string text;
    for (const PlanFinding& finding : check_plan(model, training, plan, {})) {
      if (finding.warning) continue;
      text += (text.empty() ? "" : "\n") + finding.path + ": " + finding.message + " (" + finding.advice + ")";
    }
    EXPECT_EQ(text, each.finding) << each.name;
  }
}

// The same rule holds for every legal mesh of both views.
TEST(CheckExperts, EveryPlanPasses) {
  for (const tests::ExpertPlan& plan : tests::expert_plans()) {
    std::vector<PlanFinding> findings;
    check_experts(plan.model, plan.training, plan.plan, findings);
    EXPECT_TRUE(findings.empty()) << plan.name;
  }
}

}  // namespace
}  // namespace strategies
