#include <algorithm>
#include <charconv>

#include "scenarios/load/catalog_fields.h"
#include "scenarios/load/context_exchange_words.h"
#include "scenarios/load/load_catalog.h"

namespace scenarios {
namespace {

using hw_models::AttentionKernel;
using hw_models::DType;
using hw_models::SoftwareSpec;
using strategies::Implementation;
using strategies::NarrowWeights;
using strategies::SelectiveRecompute;
using strategies::ShardedReduction;

constexpr double kMaximumLaunch = 1;           // s: beyond, the unit is wrong
constexpr double kMaximumStepOverhead = 3600;  // s
constexpr double kMaximumMemory = 1e12;        // bytes
constexpr double kMaximumBucket = 1e13;        // parameters
constexpr double kMaximumVocabularyMultiple = 1e6;
constexpr double kMostWideLayers = 1000;

const std::vector<std::pair<std::string, AttentionKernel>> kAttentionWords{{"flash", AttentionKernel::kFlash},
                                                                           {"flash-2", AttentionKernel::kFlash2},
                                                                           {"flash-1", AttentionKernel::kFlash1},
                                                                           {"unfused", AttentionKernel::kUnfused}};
/// Formats a framework stores tensors in; tf32 exists in registers only.
const std::vector<std::pair<std::string, DType>> kStorageWords{
    {"fp32", DType::kFp32}, {"bf16", DType::kBf16}, {"fp16", DType::kFp16}, {"fp8", DType::kFp8}};
const std::vector<std::pair<std::string, ShardedReduction>> kShardedReductionWords{
    {"scatter", ShardedReduction::kScatter},
    {"all-reduce", ShardedReduction::kAllReduce},
    {"all-reduce-unless-fp16", ShardedReduction::kAllReduceUnlessFp16}};
const std::vector<std::pair<std::string, SelectiveRecompute>> kSelectiveWords{
    {"attention", SelectiveRecompute::kAttention}, {"alternate-layers", SelectiveRecompute::kAlternateLayers}};
const std::vector<std::pair<std::string, NarrowWeights>> kNarrowWeightsWords{
    {"beside", NarrowWeights::kBeside}, {"alone", NarrowWeights::kAlone}, {"each-use", NarrowWeights::kEachUse}};

/// One table for all switches: a new switch is one line here.
struct Switch {
  std::string_view key;
  bool Implementation::*member;
};
constexpr Switch kSwitches[] = {
    {"balanced_context", &Implementation::balanced_context},
    {"dropout", &Implementation::dropout},
    {"grouped_experts", &Implementation::grouped_experts},
    {"fused_cross_entropy", &Implementation::fused_cross_entropy},
    {"half_gradients_until_end", &Implementation::half_gradients_until_end},
    {"casts_products", &Implementation::casts_products},
    {"separate_buckets", &Implementation::separate_buckets},
    {"copies_keys_and_values", &Implementation::copies_keys_and_values},
    {"fused_elementwise", &Implementation::fused_elementwise},
    {"fused_gate", &Implementation::fused_gate},
    {"composed_passes", &Implementation::composed_passes},
    {"unpads_attention", &Implementation::unpads_attention},
    {"packed_attention", &Implementation::packed_attention},
    {"fused_gradient_accumulation", &Implementation::fused_gradient_accumulation},
    {"persistent_gathers", &Implementation::persistent_gathers},
    {"flat_parameter_gather", &Implementation::flat_parameter_gather},
    {"fp32_shards", &Implementation::fp32_shards},
    {"shards_rows", &Implementation::shards_rows},
    {"keeps_last_layer", &Implementation::keeps_last_layer},
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
    {"post_validation", &Implementation::post_validation},
};

/// Adds the recipe, if the map has it.
void read_recipe(MapReader& reader, const strategies::ScalingRecipe& recipe, strategies::LowPrecision& stack) {
  const std::optional<Value> value = reader.value(recipe.name);
  if (!value) return;
  MapReader map(*value, reader.diagnostics());
  strategies::RecipeUse use{.scaling = recipe.scaling};
  read_word(map, {"weights"}, kNarrowWeightsWords, use.weights);
  read(map, "narrow_gather", use.narrow_gather);
  read(map, {"wide_layers", 0, kMostWideLayers}, use.wide_layers);
  map.finish();
  stack.recipes.push_back(use);
}

void read_low_precision(const Value& value, Diagnostics& diagnostics, strategies::LowPrecision& stack) {
  MapReader reader(value, diagnostics);
  read(reader, "keeps_narrow", stack.keeps_narrow);
  std::vector<std::pair<std::string, strategies::Scaling>> words;
  for (const strategies::ScalingRecipe& recipe : strategies::kScalingRecipes) {
    words.emplace_back(recipe.name, recipe.scaling);
    read_recipe(reader, recipe, stack);
  }
  strategies::Scaling usual = stack.recipes.empty() ? strategies::Scaling::kUsual : stack.recipes.front().scaling;
  read_word(reader, {"usual"}, words, usual);
  reader.finish();
  const auto first = std::ranges::find(stack.recipes, usual, &strategies::RecipeUse::scaling);
  if (first != stack.recipes.end()) {
    std::rotate(stack.recipes.begin(), first, first + 1);
  } else if (error_count(diagnostics) == 0) {
    diagnostics.error(reader.place("usual"), "the stack has no such recipe", "write fp8-delayed: {weights: beside}");
  }
}

void read_implementation(const Value& map, Diagnostics& diagnostics, Implementation& implementation) {
  MapReader reader(map, diagnostics);
  read_word(reader, {"attention"}, kAttentionWords, implementation.attention);
  if (const auto kernel = reader.one_of("context_attention", kAttentionWords))
    implementation.context_attention = kernel;
  read_word(reader, {"gradient"}, kStorageWords, implementation.gradient);
  read_word(reader, {"parameter_gather"}, kStorageWords, implementation.parameter_gather);
  read_word(reader, {"logits"}, kStorageWords, implementation.logits);
  read_word(reader, {"sharded_reduction"}, kShardedReductionWords, implementation.sharded_reduction);
  read_word(reader, {"selective"}, kSelectiveWords, implementation.selective);
  read_word(reader, {"context_exchange"}, kContextExchangeWords, implementation.context_exchange);
  for (const Switch& item : kSwitches) read(reader, item.key, implementation.*item.member);
  read(reader, {"bucket_parameters", 0, kMaximumBucket}, implementation.bucket_parameters);
  read(reader, {"vocabulary_multiple", 0, kMaximumVocabularyMultiple}, implementation.vocabulary_multiple);
  read(reader, {"library_workspace", 0, kMaximumMemory}, implementation.library_workspace);
  if (const auto value = reader.value("low_precision")) {
    read_low_precision(*value, diagnostics, implementation.low_precision);
  }
  reader.finish();
}

/// "2.20" -> 20. A text: as a number 2.2 and 2.20 would be the same.
void read_nccl(MapReader& reader, int& minor) {
  const std::optional<std::string> text = reader.text("nccl");
  if (!text) return;
  constexpr int kLatest = 99;
  int found = -1;
  const char* const end = text->data() + text->size();
  const bool dotted = text->starts_with("2.") && std::from_chars(text->data() + 2, end, found).ptr == end;
  if (dotted && found >= 0 && found <= kLatest) {
    minor = found;
  } else {
    reader.diagnostics().error(reader.place("nccl"), "'nccl' must be a release 2.0 to 2.99", "write nccl: 2.20");
  }
}

void read_prices(const Value& map, Diagnostics& diagnostics, SoftwareSpec& prices) {
  MapReader reader(map, diagnostics);
  read(reader, {"kernel_launch", 0, kMaximumLaunch}, prices.kernel_launch);
  read(reader, {"collective_launch", 0, kMaximumLaunch}, prices.collective_launch);
  read(reader, {"collective_member", 0, kMaximumLaunch}, prices.collective_member);
  read(reader, {"shard_copy", 0, kMaximumLaunch}, prices.shard_copy);
  read(reader, {"synchronize", 0, kMaximumLaunch}, prices.synchronize);
  read(reader, {"step_overhead", 0, kMaximumStepOverhead}, prices.step_overhead);
  read(reader, {"kernel_gap", 0, kMaximumLaunch}, prices.kernel_gap);
  read(reader, {"allocator_overhead", 0, 10}, prices.allocator_overhead);
  read(reader, "defers_frees", prices.defers_frees);
  read(reader, "single_engine", prices.single_engine);
  read(reader, {"context", 0, kMaximumMemory}, prices.context);
  read(reader, {"communicator", 0, kMaximumMemory}, prices.communicator);
  read_nccl(reader, prices.nccl);
  reader.finish();
}

}  // namespace

std::optional<SoftwareStack> load_software(const Value& map, const std::string& name, Diagnostics& diagnostics) {
  const std::size_t errors = error_count(diagnostics);
  MapReader reader(map, diagnostics);
  SoftwareStack stack;
  stack.implementation.name = stack.prices.name = read_notes(reader, name).name;
  read(reader, "usual_node", stack.usual_node);
  if (const auto implementation = reader.value("implementation")) {
    read_implementation(*implementation, diagnostics, stack.implementation);
  } else if (!reader.has("implementation")) {
    reader.missing("implementation", "write implementation: {attention: flash}");
  }
  if (const auto prices = reader.value("prices")) {
    read_prices(*prices, diagnostics, stack.prices);
  } else if (!reader.has("prices")) {
    reader.missing("prices", "write prices: {kernel_launch: 6 us}");
  }
  reader.finish();
  return error_count(diagnostics) == errors ? std::optional(stack) : std::nullopt;
}

}  // namespace scenarios
