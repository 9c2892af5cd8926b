#include "executor/cpu/support.h"

#include <gtest/gtest.h>

#include "strategies/build_program.h"
#include "tests/executor/trainings.h"

namespace tests {
namespace {

using hw_models::DType;
using strategies::ModelSpec;

Training plain() { return tiny_training(tiny_llama(), hw_models::OptimizerKind::kAdamW); }

std::string problem_of(const Training& t) {
  const auto refusal =
      executor::cpu::refuse_program(strategies::build_program(t.model, t.training, t.plan, t.implementation));
  return refusal ? refusal->problem : "";
}

TEST(Support, TheOwnStackRuns) { EXPECT_EQ(problem_of(plain()), ""); }

TEST(Support, EveryFormOfContextParallelismRuns) {
  using strategies::ContextExchange;
  for (const ContextExchange exchange :
       {ContextExchange::kRing, ContextExchange::kAllGather, ContextExchange::kAllToAll}) {
    Training t = plain();
    t.plan.context = 2;
    t.plan.context_exchange = exchange;
    EXPECT_EQ(problem_of(t), "");
    EXPECT_FALSE(executor::cpu::refuse_model(t.model, t.plan));
  }
}

TEST(Support, OtherStacksAreRefusedByName) {
  struct Case {
    void (*change)(Training& t);
    std::string operation;
  };
  const Case cases[] = {
      {[](Training& t) { t.implementation = {}; }, "attention"},
      {[](Training& t) { t.training.precision = DType::kBf16; }, "embedding"},
      {[](Training& t) { t.implementation.packed_attention = false; }, "attention-layout"},
      {[](Training& t) { t.implementation.fused_gate = false; }, "mlp-bias"},
      {[](Training& t) { t.implementation.dropout = true; }, "attention"},
  };
  for (const Case& c : cases) {
    Training t = plain();
    c.change(t);
    EXPECT_EQ(problem_of(t), "the cpu backend cannot run '" + t.implementation.name + "': it has no fp32 kernel for '" +
                                 c.operation + "' as that stack computes it");
  }
}

TEST(Support, ModelsThatOperationsDoNotCarryOutAreRefused) {
  struct Case {
    void (*change)(ModelSpec& m);
    std::string trait;
  };
  const Case cases[] = {
      {[](ModelSpec& m) { m.position = strategies::PositionKind::kAlibi; }, "ALiBi positions"},
      {[](ModelSpec& m) { m.parallel_block = true; }, "parallel attention and MLP"},
      {[](ModelSpec& m) { m.embedding_norm = true; }, "a norm behind the embedding"},
      {[](ModelSpec& m) { m.query_key_norm = true; }, "norms of queries and keys"},
      {[](ModelSpec& m) { m.norms_per_layer = 4; }, "other than two norms a layer"},
      {[](ModelSpec& m) { m.attention_sinks = true; }, "attention sinks"},
      {[](ModelSpec& m) { m.head_bias = true; }, "a bias of the LM head"},
      {[](ModelSpec& m) { m.experts.emplace(); }, "mixture of experts"},
      {[](ModelSpec& m) { m.latent.emplace(); }, "latent attention"},
      {[](ModelSpec& m) { m.extra_prediction_layers = 1; }, "extra prediction layers"},
  };
  for (const Case& c : cases) {
    ModelSpec model = tiny_llama();
    c.change(model);
    const auto refusal = executor::cpu::refuse_model(model, {});
    ASSERT_TRUE(refusal) << c.trait;
    EXPECT_EQ(refusal->problem, "the cpu backend cannot run 'tiny-llama' under this plan: it has " + c.trait);
  }
  strategies::PlanSpec wide;
  wide.tensor = 4;
  EXPECT_EQ(executor::cpu::refuse_model(tiny_llama(), wide)->problem,
            "the cpu backend cannot run 'tiny-llama' under this plan: it has fewer key-value heads than tensor ranks");
  ModelSpec small = tiny_llama();
  small.vocabulary = 255;
  EXPECT_EQ(executor::cpu::refuse_model(small, {})->problem, "the model knows 255 tokens; bytes are 256");
  EXPECT_FALSE(executor::cpu::refuse_model(tiny_llama(), {}));
}

}  // namespace
}  // namespace tests
