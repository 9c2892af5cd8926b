// What every software stack of the catalogue puts on the wire, counted in built Programs and worked out by hand.
//
// Bytes that one of n ranks sends (nccl-tests convention; a ring, and no algorithm can do with less):
//   all-reduce                  2 (n - 1) / n x buffer
//   reduce-scatter, all-gather    (n - 1) / n x buffer
//
// Replicas, for each parameter, with gradients of g bytes and gathered weights of w bytes, n = 8:
//   no ZeRO                    g x 2 x 7/8
//   ZeRO 1, scatter            g x 7/8 and w x 7/8
//   ZeRO 1, all-reduce         g x 2 x 7/8 and w x 7/8
//   gradient accumulation      the same: the sum is taken once a step, in the backward of the last microbatch or after
//   it
//
// Tensor ranks, n = 2, for each token and hidden column, 2-byte activations, L layers:
//   without sequence parallelism: forward and backward reduce behind attention and MLP, embedding and LM head once each
//     (4 L + 2) all-reduces     = (4 L + 2) x 2 x 2 x 1/2
//   with it: forward gathers before and scatters behind attention and MLP; backward does the reverse and gathers the
//     inputs of qkv and up projection once more for their weight gradients; embedding: one scatter, one gather;
//     LM head: gather; gather again, scatter
//     (10 L + 5) half operations = (10 L + 5) x 2 x 1/2
//
// Pipeline messages, for each token and hidden column and direction: 2 bytes; with the scatter-gather optimisation and
// two tensor ranks that hold the same stream 2 / 2.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "scenarios/catalog.h"
#include "strategies/build_program.h"

namespace scenarios {
namespace {

using hw_models::DType;
using strategies::CollectiveKind;

constexpr double kEighth = 7.0 / 8;  // (n - 1) / n of 8 replicas

struct Wire {
  const char* stack;
  DType precision;
  double reduce;       ///< bytes a parameter, no ZeRO
  double zero_reduce;  ///< ZeRO 1: of the gradients
  double zero_gather;  ///< ZeRO 1: of the weights
  double message;      ///< a token, hidden column and direction, two tensor ranks without sequence parallelism
};

constexpr Wire kWires[] = {
    // fp32 gradients, distributed optimizer: reduce-scatter 4 B, all-gather of bf16 weights 2 B
    {"megatron-core", DType::kBf16, 4 * 2 * kEighth, 4 * kEighth, 2 * kEighth, 1},
    // fp16: gradients as the weights; bf16: --accumulate-allreduce-grads-in-fp32 is set by the program itself
    {"megatron-lm", DType::kFp16, 2 * 2 * kEighth, 2 * kEighth, 2 * kEighth, 1},
    {"megatron-lm", DType::kBf16, 4 * 2 * kEighth, 4 * kEighth, 2 * kEighth, 1},
    {"megatron-lm-2022", DType::kFp16, 2 * 2 * kEighth, 2 * kEighth, 2 * kEighth, 1},
    {"megatron-lm-2022", DType::kBf16, 4 * 2 * kEighth, 4 * kEighth, 2 * kEighth, 1},
    {"zero-bubble", DType::kFp16, 2 * 2 * kEighth, 2 * kEighth, 2 * kEighth, 1},
    {"zero-bubble", DType::kBf16, 4 * 2 * kEighth, 4 * kEighth, 2 * kEighth, 1},
    // fp16 ZeRO reduces to the owners; the bf16 optimizer all-reduces fp32 gradients though it shards the update
    {"megatron-deepspeed", DType::kFp16, 2 * 2 * kEighth, 2 * kEighth, 2 * kEighth, 1},
    {"megatron-deepspeed", DType::kBf16, 4 * 2 * kEighth, 4 * 2 * kEighth, 2 * kEighth, 1},
    {"megatron-deepspeed-bigscience", DType::kFp16, 2 * 2 * kEighth, 2 * kEighth, 2 * kEighth, 1},
    {"megatron-deepspeed-bigscience", DType::kBf16, 4 * 2 * kEighth, 4 * 2 * kEighth, 2 * kEighth, 1},
    // performance recipes: grad_reduce_in_fp32 off
    {"nemo", DType::kBf16, 2 * 2 * kEighth, 2 * kEighth, 2 * kEighth, 1},
    // fp32 gradient accumulation, reduced as it is accumulated
    {"nanotron", DType::kBf16, 4 * 2 * kEighth, 4 * kEighth, 2 * kEighth, 2},
    {"nanotron-before-pp-fix", DType::kBf16, 4 * 2 * kEighth, 4 * kEighth, 2 * kEighth, 2},
    // FSDP mixed precision: bf16 gathers; reduction in fp32 (torchtitan, Composer's DEFAULT) or bf16 (fms-fsdp)
    {"torchtitan", DType::kBf16, 4 * 2 * kEighth, 4 * kEighth, 2 * kEighth, 2},
    {"torchtitan-eager", DType::kBf16, 4 * 2 * kEighth, 4 * kEighth, 2 * kEighth, 2},
    {"llm-foundry", DType::kBf16, 4 * 2 * kEighth, 4 * kEighth, 2 * kEighth, 2},
    {"fms-fsdp", DType::kBf16, 2 * 2 * kEighth, 2 * kEighth, 2 * kEighth, 2},
    // gradients as the model, all-reduced under ZeRO 1 too; owners broadcast their weights
    {"internevo", DType::kBf16, 2 * 2 * kEighth, 2 * 2 * kEighth, 2 * kEighth, 1},
    // gradients in the training format, reduced to their owners
    {"deepspeed", DType::kBf16, 2 * 2 * kEighth, 2 * kEighth, 2 * kEighth, 2},
    {"deepspeed-zero3", DType::kBf16, 2 * 2 * kEighth, 2 * kEighth, 2 * kEighth, 2},
    {"paddlenlp", DType::kBf16, 2 * 2 * kEighth, 2 * kEighth, 2 * kEighth, 2},
    // autocast: fp32 weights have fp32 gradients
    {"torch", DType::kBf16, 4 * 2 * kEighth, 4 * kEighth, 2 * kEighth, 2},
    {"generic", DType::kBf16, 4 * 2 * kEighth, 4 * kEighth, 2 * kEighth, 2},
    // the CPU backend keeps and gathers fp32 weights
    {"trainyard-cpu", DType::kFp32, 4 * 2 * kEighth, 4 * kEighth, 4 * kEighth, 4},
    {"trainyard-cuda", DType::kBf16, 4 * 2 * kEighth, 4 * kEighth, 2 * kEighth, 2},
};

constexpr int kLayers = 4, kHidden = 64, kSequence = 32;

/// Every tensor divides by 8 replicas and the vocabulary by 128 x 2: nothing is padded.
strategies::ModelSpec model() {
  strategies::ModelSpec model;
  model.name = "even";
  model.layers = kLayers;
  model.hidden = kHidden;
  model.heads = model.kv_heads = 8;
  model.head_dim = 8;
  model.ffn = 128;
  model.vocabulary = 1024;
  return model;
}

struct Ranks {
  int data = 1, tensor = 1, pipeline = 1, zero = 0, microbatches = 1;
  bool sequence_parallel = false;
};

const Catalog& catalog() {
  static const Catalog catalog;
  return catalog;
}

strategies::Program program_of(const Wire& wire, const Ranks& ranks) {
  strategies::TrainingSpec training;
  training.sequence_length = kSequence;
  training.global_batch = ranks.data * ranks.microbatches;
  training.precision = wire.precision;
  strategies::PlanSpec plan;
  plan.data = ranks.data;
  plan.tensor = ranks.tensor;
  plan.pipeline = ranks.pipeline;
  plan.zero = ranks.zero;
  plan.sequence_parallel = ranks.sequence_parallel;
  plan.schedule = "1f1b";
  return strategies::build_program(model(), training, plan, catalog().software(wire.stack).value().implementation);
}

template <class Visit>
void for_each_operation(const strategies::Role& role, Visit visit) {
  for (const strategies::Action& action : role.schedule) {
    for (const strategies::Operation& operation : role.blocks[action.block].operations) visit(operation);
  }
}

/// Bytes that a rank of the role sends in a step in collectives of n ranks whose label has this beginning.
double sent_in(const strategies::Role& role, std::string_view label, int n) {
  double bytes = 0;
  for_each_operation(role, [&](const strategies::Operation& operation) {
    const auto* collective = std::get_if<strategies::Collective>(&operation.work);
    if (collective == nullptr || !operation.origin.label.starts_with(label)) return;
    const double passes = collective->kind == CollectiveKind::kAllReduce ? 2 : 1;
    bytes += passes * (n - 1) / n * static_cast<double>(collective->bytes.value());
  });
  return bytes;
}

double messages(const strategies::Role& role) {
  double bytes = 0;
  for_each_operation(role, [&](const strategies::Operation& operation) {
    const auto* send = std::get_if<strategies::Send>(&operation.work);
    if (send != nullptr) bytes += static_cast<double>(send->bytes.value());
  });
  return bytes;
}

double parameters() { return static_cast<double>(strategies::count_parameters(model()).total); }
double layer_parameters() { return static_cast<double>(strategies::count_parameters(model()).dense_layer); }

class WireBytes : public testing::TestWithParam<Wire> {};

TEST_P(WireBytes, OfReplicasForEachParameter) {
  const strategies::Role plain = program_of(GetParam(), {.data = 8}).roles.front();
  EXPECT_DOUBLE_EQ(sent_in(plain, "reduce-gradients", 8) / parameters(), GetParam().reduce);
  EXPECT_DOUBLE_EQ(sent_in(plain, "gather-parameters", 8), 0);
  for (const int microbatches : {1, 4}) {
    const Ranks ranks{.data = 8, .zero = 1, .microbatches = microbatches};
    const strategies::Role sharded = program_of(GetParam(), ranks).roles.front();
    EXPECT_DOUBLE_EQ(sent_in(sharded, "reduce-gradients", 8) / parameters(), GetParam().zero_reduce) << microbatches;
    EXPECT_DOUBLE_EQ(sent_in(sharded, "gather-parameters", 8) / parameters(), GetParam().zero_gather) << microbatches;
  }
}

/// Parameters outside the layers, and of one layer.
double root_parameters() { return parameters() - kLayers * layer_parameters(); }

// Every microbatch gathers each layer for the forward and again for the backward, but for a last layer that stays; what
// belongs to no layer is gathered once. Every microbatch reduces what it would without shards, to the pieces' owners.
TEST_P(WireBytes, OfShardedReplicasForEachParameter) {
  const bool keeps_last = catalog().software(GetParam().stack).value().implementation.keeps_last_layer;
  const double layers = (2 * kLayers - (keeps_last ? 1 : 0)) * layer_parameters();
  for (const int microbatches : {1, 4}) {
    const strategies::Role role =
        program_of(GetParam(), {.data = 8, .zero = 3, .microbatches = microbatches}).roles.front();
    EXPECT_DOUBLE_EQ(sent_in(role, "gather-weights", 8),
                     GetParam().zero_gather * (layers + root_parameters()) * microbatches);
    EXPECT_DOUBLE_EQ(sent_in(role, "shard-gradients", 8), GetParam().reduce / 2 * parameters() * microbatches);
    EXPECT_EQ(sent_in(role, "gather-parameters", 8) + sent_in(role, "reduce-gradients", 8), 0);
  }
}

TEST_P(WireBytes, OfTensorRanksForEachTokenAndColumn) {
  const double width = GetParam().precision == DType::kFp32 ? 4 : 2;
  const double places = kSequence * kHidden * 4;  // four microbatches
  const strategies::Role whole = program_of(GetParam(), {.tensor = 2, .microbatches = 4}).roles.front();
  EXPECT_DOUBLE_EQ(sent_in(whole, "reduce-tensor", 2) / places, (4 * kLayers + 2) * width * 2 / 2);
  const Ranks split{.tensor = 2, .microbatches = 4, .sequence_parallel = true};
  const strategies::Role shared = program_of(GetParam(), split).roles.front();
  const double sent = sent_in(shared, "gather-sequence", 2) + sent_in(shared, "scatter-sequence", 2);
  EXPECT_DOUBLE_EQ(sent / places, (10 * kLayers + 5) * width / 2);
}

TEST_P(WireBytes, OfPipelineMessagesForEachTokenAndColumn) {
  const double width = GetParam().precision == DType::kFp32 ? 4 : 2;
  const double places = kSequence * kHidden * 4;
  for (const strategies::Role& stage : program_of(GetParam(), {.pipeline = 2, .microbatches = 4}).roles) {
    EXPECT_DOUBLE_EQ(messages(stage) / places, width) << stage.name;
  }
  for (const strategies::Role& stage : program_of(GetParam(), {.tensor = 2, .pipeline = 2, .microbatches = 4}).roles) {
    EXPECT_DOUBLE_EQ(messages(stage) / places, GetParam().message) << stage.name;
    const double gathered = GetParam().message < width ? width / 2 : 0;
    EXPECT_DOUBLE_EQ(sent_in(stage, "gather-message", 2) / places, gathered) << stage.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Stacks, WireBytes, testing::ValuesIn(kWires), [](const auto& wire) {
  std::string name = std::string(wire.param.stack) + "_" + std::string(hw_models::info(wire.param.precision).name);
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(WireTable, EveryStackOfTheCatalogueIsInTheTable) {
  for (const std::string& name : Catalog().names("software")) {
    EXPECT_TRUE(std::ranges::any_of(kWires, [&](const Wire& wire) { return name == wire.stack; })) << name;
  }
}

}  // namespace
}  // namespace scenarios
