#include "tests/scenarios/load/catalog_entry_cases.h"

namespace scenarios {
namespace {

using hw_models::AttentionKernel;
using hw_models::DType;

const std::string kGood =
    "implementation: {attention: unfused, gradient: bf16, parameter_gather: fp8, logits: fp16, bucket_parameters: 7, "
    "vocabulary_multiple: 64, library_workspace: 64 MiB}\n"
    "usual_node: p5.48xlarge\n"
    "prices: {kernel_launch: 4 us, collective_launch: 20 us, collective_member: 245 us, shard_copy: 3 us, synchronize: "
    "10 us, "
    "step_overhead: 5 ms, kernel_gap: "
    "1 us, allocator_overhead: 0.1, defers_frees: true, single_engine: true, context: 1 GiB, communicator: 300 MB, "
    "nccl: 2.20}\n"
    "source: invented\n";

TEST(LoadSoftware, ReadsEveryField) {
  std::string findings;
  const auto stack = load_text(load_software, kGood, findings);
  ASSERT_TRUE(stack.has_value()) << findings;
  EXPECT_EQ(findings, "");
  EXPECT_EQ(stack->implementation.name, "entry");
  EXPECT_EQ(stack->implementation.attention, AttentionKernel::kUnfused);
  EXPECT_EQ(stack->implementation.gradient, DType::kBf16);
  EXPECT_EQ(stack->implementation.parameter_gather, DType::kFp8);
  EXPECT_EQ(stack->implementation.logits, DType::kFp16);
  EXPECT_EQ(stack->implementation.bucket_parameters, 7);
  EXPECT_EQ(stack->implementation.vocabulary_multiple, 64);
  EXPECT_EQ(stack->implementation.library_workspace.value(), 64LL << 20);
  EXPECT_EQ(stack->prices.name, "entry");
  EXPECT_DOUBLE_EQ(stack->prices.kernel_launch.value(), 4e-6);
  EXPECT_DOUBLE_EQ(stack->prices.collective_launch.value(), 2e-5);
  EXPECT_DOUBLE_EQ(stack->prices.collective_member.value(), 245e-6);
  EXPECT_DOUBLE_EQ(stack->prices.shard_copy.value(), 3e-6);
  EXPECT_EQ(stack->usual_node, "p5.48xlarge");
  EXPECT_DOUBLE_EQ(stack->prices.synchronize.value(), 1e-5);
  EXPECT_DOUBLE_EQ(stack->prices.step_overhead.value(), 5e-3);
  EXPECT_DOUBLE_EQ(stack->prices.kernel_gap.value(), 1e-6);
  EXPECT_DOUBLE_EQ(stack->prices.allocator_overhead, 0.1);
  EXPECT_TRUE(stack->prices.defers_frees);
  EXPECT_TRUE(stack->prices.single_engine);
  EXPECT_EQ(stack->prices.context.value(), 1LL << 30);
  EXPECT_EQ(stack->prices.communicator.value(), 300'000'000);
  EXPECT_EQ(stack->prices.nccl, 20);
}

TEST(LoadSoftware, WordsOfReductionAndRecomputation) {
  using strategies::SelectiveRecompute;
  using strategies::ShardedReduction;
  const auto read = [](const std::string& line) {
    std::string findings;
    const auto stack =
        load_text(load_software, "prices: {kernel_launch: 4 us}\nimplementation: {" + line + "}\n", findings);
    EXPECT_EQ(findings, "") << line;
    return stack.value().implementation;
  };
  EXPECT_EQ(read("sharded_reduction: scatter").sharded_reduction, ShardedReduction::kScatter);
  EXPECT_EQ(read("sharded_reduction: all-reduce").sharded_reduction, ShardedReduction::kAllReduce);
  EXPECT_EQ(read("sharded_reduction: all-reduce-unless-fp16").sharded_reduction,
            ShardedReduction::kAllReduceUnlessFp16);
  EXPECT_EQ(read("selective: attention").selective, SelectiveRecompute::kAttention);
  EXPECT_EQ(read("selective: alternate-layers").selective, SelectiveRecompute::kAlternateLayers);
}

TEST(LoadSoftware, EverySwitchTurnsItsOwnField) {
  using strategies::Implementation;
  const std::vector<std::pair<std::string, bool Implementation::*>> switches{
      {"dropout", &Implementation::dropout},
      {"fused_cross_entropy", &Implementation::fused_cross_entropy},
      {"fused_elementwise", &Implementation::fused_elementwise},
      {"composed_passes", &Implementation::composed_passes},
      {"unpads_attention", &Implementation::unpads_attention},
      {"fused_gradient_accumulation", &Implementation::fused_gradient_accumulation},
      {"half_gradients_until_end", &Implementation::half_gradients_until_end},
      {"casts_products", &Implementation::casts_products},
      {"separate_buckets", &Implementation::separate_buckets},
      {"copies_keys_and_values", &Implementation::copies_keys_and_values},
      {"persistent_gathers", &Implementation::persistent_gathers},
      {"flat_parameter_gather", &Implementation::flat_parameter_gather},
      {"overlap_gradient_reduce", &Implementation::overlap_gradient_reduce},
      {"overlap_parameter_gather", &Implementation::overlap_parameter_gather},
      {"gathers_at_once", &Implementation::gathers_at_once},
      {"overlap_weight_gradient", &Implementation::overlap_weight_gradient},
      {"blocking_sends", &Implementation::blocking_sends},
      {"blocking_receives", &Implementation::blocking_receives},
      {"blocking_launches", &Implementation::blocking_launches},
      {"balance_stages", &Implementation::balance_stages},
      {"scatter_gather_messages", &Implementation::scatter_gather_messages},
      {"master_weights", &Implementation::master_weights},
      {"cuda_graphs", &Implementation::cuda_graphs},
      {"gradient_norm", &Implementation::gradient_norm},
      {"loss_read", &Implementation::loss_read},
      {"post_validation", &Implementation::post_validation}};
  for (const auto& [on, unused] : switches) {
    std::string text = "prices: {kernel_launch: 4 us}\nimplementation:\n";
    for (const auto& [key, member] : switches) text += "  " + key + (key == on ? ": true\n" : ": false\n");
    std::string findings;
    const auto stack = load_text(load_software, text, findings);
    ASSERT_TRUE(stack.has_value()) << findings;
    for (const auto& [key, member] : switches) EXPECT_EQ(stack->implementation.*member, key == on) << on << " " << key;
  }
}

TEST(LoadSoftware, RecipesOfNarrowFormats) {
  using strategies::NarrowWeights;
  using strategies::Scaling;
  std::string findings;
  const auto stack = load_text(load_software,
                               "prices: {kernel_launch: 4 us}\nimplementation: {low_precision: {usual: mxfp8, "
                               "keeps_narrow: false, fp8-tensorwise: {weights: each-use, narrow_gather: true, "
                               "wide_layers: 3}, mxfp8: {weights: alone}}}\n",
                               findings);
  ASSERT_TRUE(stack.has_value()) << findings;
  const strategies::LowPrecision& low = stack->implementation.low_precision;
  EXPECT_FALSE(low.keeps_narrow);
  ASSERT_EQ(low.recipes.size(), 2U);
  EXPECT_EQ(low.recipes[0].scaling, Scaling::kMicroscaling);
  EXPECT_EQ(low.recipes[0].weights, NarrowWeights::kAlone);
  EXPECT_EQ(low.recipes[1].scaling, Scaling::kTensorwise);
  EXPECT_EQ(low.recipes[1].weights, NarrowWeights::kEachUse);
  EXPECT_TRUE(low.recipes[1].narrow_gather);
  EXPECT_EQ(low.recipes[1].wide_layers, 3);
}

TEST(LoadSoftware, EachDefectIsOneFinding) {
  expect_findings(
      load_software, kGood,
      {{"implementation", "", "'implementation' is missing"},
       {"implementation", "implementation: flash", "must be a map"},
       {"implementation", "implementation: {attention: flesh}", "did you mean 'flash'?"},
       {"implementation", "implementation: {gradient: tf32}", "is not known"},
       {"implementation", "implementation: {selective: attentive}", "did you mean 'attention'?"},
       {"implementation", "implementation: {sharded_reduction: ring}", "is not known"},
       {"implementation", "implementation: {dropout: 3}", "must be true or false"},
       {"implementation", "implementation: {dropuot: true}", "did you mean 'dropout'?"},
       {"implementation", "implementation: {bucket_parameters: -1}", "out of range"},
       {"implementation", "implementation: {vocabulary_multiple: 10000000000}", "out of range"},
       {"implementation", "implementation: {low_precision: {mxfp8: {weights: bside}}}", "did you mean 'beside'?"},
       {"implementation", "implementation: {low_precision: {usual: nvfp4, mxfp8: {}}}", "no such recipe"},
       {"implementation", "implementation: {low_precision: {mxfp8: {wide_layers: -1}}}", "out of range"},
       {"prices", "", "'prices' is missing"},
       {"prices", "prices: {kernel_launch: 4}", "kernel_launch"},
       {"prices", "prices: {kernel_launch: 3 days}", "out of range"},
       {"prices", "prices: {allocator_overhead: -1}", "out of range"},
       {"prices", "prices: {allocator_overhead: 1e30}", "out of range"},
       {"prices", "prices: {context: 1e30 B}", "out of range"},
       {"prices", "prices: {contxt: 1 GiB}", "did you mean 'context'?"},
       {"extra", "extra: 1", "unknown key 'extra'"}});
}

}  // namespace
}  // namespace scenarios
