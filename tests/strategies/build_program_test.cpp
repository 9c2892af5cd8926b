#include "strategies/build_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>
#include <variant>

#include "strategies/pipeline/schedule.h"
#include "strategies/program/check.h"
#include "strategies/program/fingerprint.h"
#include "strategies/program/text.h"
#include "tests/golden/golden.h"
#include "tests/programs/small_plans.h"
#include "tests/sanitized.h"

namespace strategies {
namespace {

using tests::small_gpt;
using tests::small_model;
using tests::small_training;

/// Padding off: the vocabulary of 1000 divides by every tensor size used here.
Implementation unpadded() {
  Implementation implementation;
  implementation.vocabulary_multiple = 0;
  return implementation;
}

/// Visits every operation of one step of one role, with its number of executions.
template <class Visit>
void for_each_operation(const Role& role, Visit visit) {
  for (const Action& action : role.schedule) {
    for (const Operation& operation : role.blocks[action.block].operations) visit(operation);
  }
}

/// FLOPs of all matmuls of the job in one step.
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

std::int64_t collective_bytes(const Role& role, CollectiveKind kind, Lane lane, const std::string& label) {
  std::int64_t bytes = 0;
  for_each_operation(role, [&](const Operation& operation) {
    const auto* collective = std::get_if<Collective>(&operation.work);
    if (collective && collective->kind == kind && operation.lane == lane && operation.origin.label == label) {
      bytes += collective->bytes.value();
    }
  });
  return bytes;
}

std::int64_t held(const Role& role, Holds holds) {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : role.buffers) {
    if (buffer.holds == holds && buffer.lifetime == Lifetime::kStatic) bytes += buffer.size.value();
  }
  return bytes;
}

/// Bytes kept from forward to backward for one microbatch of layer `layer`.
std::int64_t kept_bytes(const Role& role, int layer) {
  const std::string prefix = "layers." + std::to_string(layer) + ".";
  std::int64_t bytes = 0;
  for (const Buffer& buffer : role.buffers) {
    if (buffer.lifetime == Lifetime::kMicrobatch && buffer.name.starts_with(prefix)) bytes += buffer.size.value();
  }
  return bytes;
}

TEST(BuildProgram, EverySmallPlanIsWellFormed) {
  for (const ModelSpec& model : {small_model(), small_gpt(), tests::small_latent()}) {
    for (const tests::SmallPlan& small : tests::sampled(tests::small_plans())) {
      const Program program = build_program(model, small_training(), small.plan, small.implementation);
      EXPECT_EQ(check_program(program), std::vector<std::string>{}) << model.name << " " << small.name;
      EXPECT_EQ(parse_program(print_program(program)), program) << model.name << " " << small.name;
      EXPECT_EQ(program.ranks(), small.plan.ranks());
    }
  }
}

TEST(BuildProgram, PlansDifferInTheirFingerprints) {
  std::map<std::string, std::string> plans;
  for (const tests::SmallPlan& small : tests::small_plans()) {
    const Program program = build_program(small_model(), small_training(), small.plan, small.implementation);
    const std::string print = fingerprint(program);
    EXPECT_EQ(print, fingerprint(build_program(small_model(), small_training(), small.plan, small.implementation)));
    plans.emplace(print, small.name);
  }
  // Without a second rank, sequence parallelism and ZeRO change nothing: a few plans coincide.
  EXPECT_GT(plans.size(), tests::small_plans().size() * 3 / 4);
}

TEST(BuildProgram, HoldsEveryParameterOnce) {
  for (const ModelSpec& model : {small_model(), small_gpt(), tests::small_latent()}) {
    for (const tests::SmallPlan& small : tests::small_plans()) {
      Implementation implementation = small.implementation;
      implementation.vocabulary_multiple = 0;
      const Program program = build_program(model, small_training(), small.plan, implementation);
      std::map<std::string, std::int64_t> elements;  // a tied copy on another stage counts once more below
      int stage = -1;
      for (const Role& role : program.roles) {
        if (std::exchange(stage, role.stage) == role.stage) continue;  // another role of the same stage
        for (const Buffer& buffer : role.buffers) {
          if (buffer.holds != Holds::kWeights || buffer.slice.parameter.empty() || buffer.slice.pieces > 1) continue;
          std::int64_t product = 1;
          for (const std::int64_t extent : buffer.slice.shape) product *= extent;
          const std::int64_t shards = buffer.slice.sharded_axis >= 0 ? small.plan.tensor : 1;
          EXPECT_EQ(buffer.size.value(), product / shards * 2) << buffer.name;  // bf16
          EXPECT_TRUE(elements.emplace(buffer.name, product).second) << buffer.name;
        }
      }
      if (program.stage_of_virtual.front() != program.stage_of_virtual.back()) {
        EXPECT_EQ(model.tied_embeddings ? elements.erase("head.weight") : 1u, 1u);
        EXPECT_EQ(model.extra_prediction_layers > 0 ? elements.erase("prediction.embedding.weight") : 1u, 1u);
      }
      std::int64_t total = 0;
      for (const auto& [name, count] : elements) total += count;
      const ParameterCount count = count_parameters(model);
      EXPECT_EQ(total, count.total + count.prediction) << model.name << " " << small.name;
    }
  }
}

// Without recomputation the matmuls are exactly the model's training FLOPs, however they are spread; full
// recomputation adds one forward of all layers, without the LM head, and half as much if every second is meant.
TEST(BuildProgram, SpreadsTheModelsFlops) {
  for (const ModelSpec& model : {small_model(), small_gpt()}) {
    const TokenFlops flops = training_flops_per_token(model, small_training().sequence_length);
    const double head = 6.0 * static_cast<double>(model.hidden * model.vocabulary);
    for (const tests::SmallPlan& small : tests::small_plans()) {
      Implementation implementation = small.implementation;
      implementation.vocabulary_multiple = 0;
      const Program program = build_program(model, small_training(), small.plan, implementation);
      const auto tokens = static_cast<double>(program.tokens_per_step);
      double expected = flops.dense * tokens;
      if (small.plan.recompute == Recompute::kFull) expected += (flops.dense - head) / 3 * tokens;
      const bool every_second = implementation.selective == SelectiveRecompute::kAlternateLayers;
      if (small.plan.recompute == Recompute::kSelective && every_second) expected += (flops.dense - head) / 6 * tokens;
      EXPECT_DOUBLE_EQ(matmul_flops(program), expected) << model.name << " " << small.name;
    }
  }
}

/// A stack that waits on the host does so once behind every message it receives.
TEST(BuildProgram, HostWaitsForEveryMessageItReceives) {
  for (const bool waits : {false, true}) {
    PlanSpec plan;
    plan.pipeline = 2;
    Implementation implementation;
    implementation.blocking_receives = waits;
    const Program program = build_program(small_gpt(), small_training(), plan, implementation);
    int received = 0;
    for (const Role& role : program.roles) {
      for (const Block& block : role.blocks) {
        for (std::uint32_t i = 0; i < block.operations.size(); ++i) {
          if (!std::holds_alternative<Receive>(block.operations[i].work)) continue;
          ++received;
          const auto* next = std::get_if<Host>(&block.operations[i + 1].work);
          const bool blocked = next != nullptr && next->reason == HostReason::kBlockingReceive &&
                               block.operations[i + 1].after == std::vector<OperationId>{{i}};
          EXPECT_EQ(blocked, waits);
        }
      }
    }
    EXPECT_GE(received, 2);
  }
}

// Korthikanti et al. (arXiv:2205.05198), equations 1, 2, 4 and section 5, for a GPT layer with dropout:
//   s b h (34 + 5 a s / h)                     one rank
//   s b h (10 + 24 / t + 5 a s / (h t))        tensor parallel
//   s b h / t (34 + 5 a s / h)                 and sequence parallel;   34 alone with selective recomputation
//   2 s b h                                    full recomputation
TEST(BuildProgram, KeepsTheActivationsOfThePublishedFormulas) {
  ModelSpec model = small_gpt();
  model.ffn = 4 * model.hidden;
  const TrainingSpec training = small_training();
  Implementation implementation;
  implementation.attention = hw_models::AttentionKernel::kUnfused;
  implementation.dropout = true;
  const std::int64_t s = training.sequence_length, b = 2, h = model.hidden, a = model.heads, t = 4;
  const auto kept = [&](int tensor, bool sequence_parallel, Recompute recompute) {
    PlanSpec plan;
    plan.tensor = tensor;
    plan.micro_batch = b;
    plan.sequence_parallel = sequence_parallel;
    plan.recompute = recompute;
    return kept_bytes(build_program(model, training, plan, implementation).roles.front(), 3);
  };
  EXPECT_EQ(kept(1, false, Recompute::kNone), s * b * h * 34 + 5 * a * s * s * b);
  EXPECT_EQ(kept(t, false, Recompute::kNone), s * b * h * 10 + s * b * h * 24 / t + 5 * a * s * s * b / t);
  EXPECT_EQ(kept(t, true, Recompute::kNone), (s * b * h * 34 + 5 * a * s * s * b) / t);
  EXPECT_EQ(kept(t, true, Recompute::kSelective), s * b * h * 34 / t);
  EXPECT_EQ(kept(1, false, Recompute::kFull), 2 * s * b * h);
}

TEST(BuildProgram, SelectiveMayMeanEverySecondLayer) {
  const auto role = [](SelectiveRecompute selective, Recompute recompute) {
    Implementation implementation = unpadded();
    implementation.selective = selective;
    PlanSpec plan;
    plan.recompute = recompute;
    return build_program(small_model(), small_training(), plan, implementation);
  };
  const Program none = role(SelectiveRecompute::kAlternateLayers, Recompute::kNone);
  const Program full = role(SelectiveRecompute::kAlternateLayers, Recompute::kFull);
  const Program mixed = role(SelectiveRecompute::kAlternateLayers, Recompute::kSelective);
  for (int layer = 0; layer < small_model().layers; ++layer) {
    const Program& like = layer % 2 == 1 ? full : none;
    EXPECT_EQ(kept_bytes(mixed.roles.front(), layer), kept_bytes(like.roles.front(), layer)) << layer;
  }
  EXPECT_DOUBLE_EQ(matmul_flops(mixed), (matmul_flops(none) + matmul_flops(full)) / 2);
  // The other meaning recomputes no matrix of a weight.
  EXPECT_DOUBLE_EQ(matmul_flops(role(SelectiveRecompute::kAttention, Recompute::kSelective)), matmul_flops(none));
}

/// nanotron deals layers out by their matrices: the LM head can leave a stage without any.
TEST(BuildProgram, StagesWithoutParametersReduceNothing) {
  Implementation implementation = unpadded();
  implementation.overlap_gradient_reduce = false;
  PlanSpec plan;
  plan.data = 2;
  plan.pipeline = 3;
  plan.layers_per_stage = {4, 0, 4};
  const Program program = build_program(small_model(), small_training(), plan, implementation);
  EXPECT_EQ(check_program(program), std::vector<std::string>{});
  EXPECT_EQ(held(program.roles[1], Holds::kGradients), 0);
  EXPECT_EQ(collective_bytes(program.roles[1], CollectiveKind::kAllReduce, Lane::kData, "reduce-gradients"), 0);
}

TEST(BuildProgram, ShardedReplicasScatterOrAllReduceTheirGradients) {
  struct Case {
    ShardedReduction reduction;
    hw_models::DType precision;
    CollectiveKind kind;
  };
  for (const Case& each :
       {Case{ShardedReduction::kScatter, hw_models::DType::kBf16, CollectiveKind::kReduceScatter},
        Case{ShardedReduction::kAllReduce, hw_models::DType::kBf16, CollectiveKind::kAllReduce},
        Case{ShardedReduction::kAllReduce, hw_models::DType::kFp16, CollectiveKind::kAllReduce},
        Case{ShardedReduction::kAllReduceUnlessFp16, hw_models::DType::kBf16, CollectiveKind::kAllReduce},
        Case{ShardedReduction::kAllReduceUnlessFp16, hw_models::DType::kFp16, CollectiveKind::kReduceScatter}}) {
    Implementation implementation = unpadded();
    implementation.sharded_reduction = each.reduction;
    TrainingSpec training = small_training();
    training.precision = each.precision;
    PlanSpec plan;
    plan.data = 4;
    plan.zero = 1;
    const Role role = build_program(small_model(), training, plan, implementation).roles.front();
    for (const CollectiveKind kind : {CollectiveKind::kReduceScatter, CollectiveKind::kAllReduce}) {
      const std::int64_t expected = kind == each.kind ? held(role, Holds::kGradients) : 0;
      EXPECT_EQ(collective_bytes(role, kind, Lane::kData, "reduce-gradients"), expected);
    }
  }
}

TEST(BuildProgram, LogitsAreFullPrecisionOnTheLastStage) {
  PlanSpec plan;
  plan.tensor = 2;
  plan.pipeline = 2;
  plan.micro_batch = 2;
  const Program program = build_program(small_model(), small_training(), plan, unpadded());
  for (const Role& role : program.roles) {
    for (const Buffer& buffer : role.buffers) {
      if (buffer.name == "head.probabilities") {
        EXPECT_EQ(role.stage, 1);
        EXPECT_EQ(buffer.size.value(), 2 * 32 * 1000 * 4 / 2);  // mbs s V 4 / t
      }
    }
  }
}

TEST(BuildProgram, VocabularyIsPaddedToTheMultipleTimesTensor) {
  PlanSpec plan;
  plan.tensor = 2;
  const Program program = build_program(small_model(), small_training(), plan, Implementation{});
  const Role& role = program.roles.front();
  EXPECT_EQ(role.buffers.front().name, "embedding.weight");
  EXPECT_EQ(role.buffers.front().slice.shape.front(), 1024);
}

TEST(BuildProgram, StateBytesFollowPrecisionAndZero) {
  PlanSpec plan;
  plan.data = 4;
  const auto elements = count_parameters(small_model()).total;
  const Role whole = build_program(small_model(), small_training(), plan, unpadded()).roles.front();
  EXPECT_EQ(held(whole, Holds::kWeights), 2 * elements);
  EXPECT_EQ(held(whole, Holds::kGradients), 4 * elements);
  EXPECT_EQ(held(whole, Holds::kOptimizerState), 12 * elements);
  plan.zero = 1;
  const Role sharded = build_program(small_model(), small_training(), plan, unpadded()).roles.front();
  EXPECT_EQ(held(sharded, Holds::kOptimizerState), 12 * ((elements + 3) / 4));
  TrainingSpec wide = small_training();
  wide.precision = hw_models::DType::kFp32;
  plan.zero = 0;
  const Role full = build_program(small_model(), wide, plan, unpadded()).roles.front();
  EXPECT_EQ(held(full, Holds::kWeights), 4 * elements);
  EXPECT_EQ(held(full, Holds::kOptimizerState), 8 * elements);
}

// Every gradient is reduced once a step and, under ZeRO 1, every weight gathered once, however large the buckets.
TEST(BuildProgram, ReducesEveryGradientOnce) {
  const std::int64_t elements = count_parameters(small_model()).total;
  for (const std::int64_t bucket : {std::int64_t{0}, std::int64_t{1}, std::int64_t{20'000}}) {
    for (const bool overlap : {false, true}) {
      for (const int zero : {0, 1}) {
        PlanSpec plan;
        plan.data = 4;  // divides every parameter of the small model: no padding
        plan.zero = zero;
        Implementation implementation = unpadded();
        implementation.bucket_parameters = bucket;
        implementation.overlap_gradient_reduce = overlap;
        const Role role = build_program(small_model(), small_training(), plan, implementation).roles.front();
        const CollectiveKind kind = zero ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
        EXPECT_EQ(collective_bytes(role, kind, Lane::kData, "reduce-gradients"), 4 * elements) << bucket << overlap;
        EXPECT_EQ(collective_bytes(role, CollectiveKind::kAllGather, Lane::kGather, "gather-parameters"),
                  zero ? 2 * elements : 0);
      }
    }
  }
}

// Megatron: two all-reduces of the stream per layer forward and two backward; sequence parallelism replaces each by a
// reduce-scatter and an all-gather, and gathers the two inputs once more for the weight gradients.
TEST(BuildProgram, TensorParallelTrafficPerLayer) {
  PlanSpec plan;
  plan.tensor = 4;
  const TrainingSpec training = small_training();
  const std::int64_t stream = training.global_batch * training.sequence_length * 64 * 2;
  const auto layer_bytes = [&](CollectiveKind kind) {
    std::int64_t bytes = 0;
    const Program program = build_program(small_model(), training, plan, unpadded());
    for_each_operation(program.roles.front(), [&](const Operation& operation) {
      const auto* collective = std::get_if<Collective>(&operation.work);
      if (collective && collective->kind == kind && operation.origin.layer == 3) bytes += collective->bytes.value();
    });
    return bytes;
  };
  EXPECT_EQ(layer_bytes(CollectiveKind::kAllReduce), 4 * stream);
  EXPECT_EQ(layer_bytes(CollectiveKind::kAllGather), 0);
  plan.sequence_parallel = true;
  EXPECT_EQ(layer_bytes(CollectiveKind::kAllReduce), 0);
  EXPECT_EQ(layer_bytes(CollectiveKind::kReduceScatter), 4 * stream);
  EXPECT_EQ(layer_bytes(CollectiveKind::kAllGather), 6 * stream);
}

TEST(BuildProgram, TiedEmbeddingsAreReducedBetweenTheEnds) {
  PlanSpec plan;
  plan.pipeline = 4;
  const Program program = build_program(small_gpt(), small_training(), plan, unpadded());
  for (const Role& role : program.roles) {
    const bool end = role.stage == 0 || role.stage == 3;
    EXPECT_EQ(collective_bytes(role, CollectiveKind::kAllReduce, Lane::kData, "reduce-tied-embedding"),
              end ? 1000 * 64 * 4 : 0)
        << role.name;
  }
}

TEST(BuildProgram, ScatteredMessagesCarryOneTensorRanksShare) {
  PlanSpec plan;
  plan.tensor = 4;
  plan.pipeline = 2;
  Implementation implementation = unpadded();
  const auto sent = [&] {
    std::int64_t bytes = 0;
    const Program program = build_program(small_model(), small_training(), plan, implementation);
    for_each_operation(program.roles.front(), [&](const Operation& operation) {
      if (const auto* send = std::get_if<Send>(&operation.work)) bytes += send->bytes.value();
    });
    return bytes;
  };
  const std::int64_t whole = 16 * 32 * 64 * 2;
  EXPECT_EQ(sent(), whole);
  implementation.scatter_gather_messages = true;
  EXPECT_EQ(sent(), whole / 4);
}

/// The operation labelled `label` in the update block.
const Operation& update_operation(const Role& role, const std::string& label) {
  const Block& update = role.blocks[role.schedule.back().block];
  const auto found = std::ranges::find(update.operations, label, [](const Operation& o) { return o.origin.label; });
  EXPECT_NE(found, update.operations.end()) << label;
  return *found;
}

// fp16: the norm, the clipping and the optimizer work on the unscaled fp32 copy, which waits for all reductions.
TEST(BuildProgram, LossScalingWorksOnAnFp32Copy) {
  TrainingSpec training = small_training();
  training.precision = hw_models::DType::kFp16;
  PlanSpec plan;
  plan.data = 2;
  Implementation implementation = unpadded();
  implementation.gradient = hw_models::DType::kFp16;
  const Role role = build_program(small_model(), training, plan, implementation).roles.front();
  const Operation& copy = update_operation(role, "main-gradients");
  ASSERT_EQ(copy.writes.size(), 1u);
  EXPECT_EQ(role.buffers[copy.writes[0].value].size.value(), 4 * count_parameters(small_model()).total);
  for (const char* label : {"unscale", "gradient-norm", "clip", "optimizer"}) {
    EXPECT_EQ(update_operation(role, label).reads.front(), copy.writes[0]) << label;
  }
  const Block& update = role.blocks[role.schedule.back().block];
  bool waits = false;
  for (const CrossDependence& d : role.schedule.back().after) {
    const Action& earlier = role.schedule[d.action];
    waits = waits || (update.operations[d.dependent.value].origin.label == "main-gradients" &&
                      role.blocks[earlier.block].operations[d.operation.value].lane == Lane::kData);
  }
  EXPECT_TRUE(waits);
}

// A stack's gradient format belongs to its usual precision: bf16 and fp32 training never hold fp16 gradients.
TEST(BuildProgram, GradientFormatFollowsThePrecision) {
  Implementation implementation = unpadded();
  implementation.gradient = hw_models::DType::kFp16;
  const std::int64_t elements = count_parameters(small_model()).total;
  for (const auto& [precision, bytes] : {std::pair{hw_models::DType::kFp16, 2}, std::pair{hw_models::DType::kBf16, 4},
                                         std::pair{hw_models::DType::kFp32, 4}}) {
    TrainingSpec training = small_training();
    training.precision = precision;
    const Role role = build_program(small_model(), training, PlanSpec{}, implementation).roles.front();
    EXPECT_EQ(held(role, Holds::kGradients), bytes * elements);
  }
}

// Llama-3 405B: 126 layers on 16 x 8 stages, the embedding and the loss with one stage each.
TEST(BuildProgram, TheEndsMayHaveAStageToThemselves) {
  ModelSpec model = small_model();
  model.layers = 6;
  TrainingSpec training = small_training();
  PlanSpec plan;
  plan.pipeline = 4;
  plan.chunks = 2;
  plan.schedule = "interleaved";
  plan.count_embedding_and_loss = true;
  const Program counted = build_program(model, training, plan, unpadded());
  EXPECT_EQ(check_program(counted), std::vector<std::string>{});
  plan.count_embedding_and_loss = false;
  plan.layers_per_stage = {0, 1, 1, 1, 1, 1, 1, 0};
  EXPECT_EQ(fingerprint(build_program(model, training, plan, unpadded())), fingerprint(counted));
}

// nanotron: half-precision gradients of all weights stand beside the fp32 ones until a backward ends, and replicas
// without ZeRO reduce through buckets of their own.
TEST(BuildProgram, GradientsOfUnfusedStacksStayUntilTheBackwardEnds) {
  Implementation implementation = unpadded();
  implementation.fused_gradient_accumulation = false;
  implementation.half_gradients_until_end = implementation.separate_buckets = true;
  PlanSpec plan;
  plan.data = 2;
  const Role role = build_program(small_model(), small_training(), plan, implementation).roles.front();
  const std::int64_t elements = count_parameters(small_model()).total;
  EXPECT_EQ(held(role, Holds::kGradients), (4 + 2) * elements);
  std::int64_t products = 0;
  const Block& backward = role.blocks[role.schedule[1].block];
  ASSERT_EQ(backward.kind, BlockKind::kBackward);
  for (const BufferId freed : backward.operations.back().frees) {
    if (role.buffers[freed.value].name == "product") products += role.buffers[freed.value].size.value();
  }
  std::int64_t norms = 0;
  for (const Buffer& buffer : role.buffers) {
    if (buffer.holds == Holds::kWeights && buffer.name.find("norm") != std::string::npos) norms += buffer.size.value();
  }
  EXPECT_EQ(products, 2 * elements - norms);
}

/// Gradients of half-precision products in fp32: DeepSpeed's bf16 optimizer casts, adds and all-reduces whole
/// gradients.
TEST(BuildProgram, WideGradientsAreCastAndReducedWhole) {
  Implementation plain = unpadded();
  plain.fused_gradient_accumulation = plain.overlap_gradient_reduce = false;
  Implementation wide = plain;
  wide.casts_products = true;
  wide.sharded_reduction = ShardedReduction::kAllReduceUnlessFp16;
  PlanSpec plan;
  plan.data = 2;
  plan.zero = 1;
  const std::int64_t elements = count_parameters(small_model()).total;
  const auto role = [&](const Implementation& stack) {
    return build_program(small_model(), small_training(), plan, stack).roles.front();
  };
  const auto reduced = [&](const Implementation& stack, CollectiveKind kind) {
    return collective_bytes(role(stack), kind, Lane::kData, "reduce-gradients");
  };
  EXPECT_EQ(reduced(plain, CollectiveKind::kReduceScatter), 4 * elements);
  EXPECT_EQ(reduced(wide, CollectiveKind::kReduceScatter), 0);
  EXPECT_EQ(reduced(wide, CollectiveKind::kAllReduce), 4 * elements);
  // Bytes of the passes behind a product of n elements: add 2 + 4 + 4; cast 2 + 4, then add 4 + 4 + 4.
  const auto passes = [&](const Implementation& stack) {
    std::int64_t bytes = 0, products = 0;
    for_each_operation(role(stack), [&](const Operation& operation) {
      const auto* compute = std::get_if<Compute>(&operation.work);
      const auto* pass = compute ? std::get_if<hw_models::Elementwise>(&compute->kernel) : nullptr;
      const std::string& label = operation.origin.label;
      if (pass && label.ends_with("-accumulate")) products += pass->elements;
      if (pass && (label.ends_with("-accumulate") || label.ends_with("-cast"))) {
        if (label != "logits-cast") bytes += pass->bytes_read + pass->bytes_written;
      }
    });
    EXPECT_GT(products, 0);
    return static_cast<double>(bytes) / static_cast<double>(products);
  };
  EXPECT_EQ(passes(plain), 10);
  EXPECT_EQ(passes(wide), 18);
  plain.gradient = wide.gradient = hw_models::DType::kBf16;  // as wide as the products: no cast
  EXPECT_EQ(reduced(wide, CollectiveKind::kAllReduce), 2 * elements);
  EXPECT_EQ(passes(wide), passes(plain));
}

// Buckets of one parameter: a gather per parameter and chunk, or one per chunk; the bytes are the same.
TEST(BuildProgram, SomeStacksGatherAllParametersAtOnce) {
  Implementation implementation = unpadded();
  implementation.bucket_parameters = 1;
  PlanSpec plan;
  plan.data = 2;
  plan.zero = 1;
  const auto gathers = [&] {
    std::pair<int, std::int64_t> found{0, 0};
    const Role role = build_program(small_model(), small_training(), plan, implementation).roles.front();
    for (const Block& block : role.blocks) {
      for (const Operation& operation : block.operations) {
        if (operation.lane != Lane::kGather) continue;
        ++found.first;
        found.second += std::get<Collective>(operation.work).bytes.value();
      }
    }
    return found;
  };
  const auto many = gathers();
  implementation.gathers_at_once = true;
  const auto one = gathers();
  EXPECT_GT(many.first, 10);
  EXPECT_EQ(one.first, 1);
  EXPECT_EQ(one.second, many.second);
}

TEST(BuildProgram, RefusesAnImpossiblePlan) {
  PlanSpec plan;
  plan.tensor = 3;
  EXPECT_THROW(build_program(small_model(), small_training(), plan, Implementation{}), std::invalid_argument);
}

TEST(BuildProgram, TextOfSmallPlans) {
  ModelSpec model = small_model();
  model.layers = 2;
  TrainingSpec training = small_training();
  training.global_batch = 4;
  for (const Schedule& schedule : schedules()) {
    PlanSpec plan;
    plan.pipeline = 2;
    plan.schedule = schedule.name;
    plan.chunks = schedule.minimum_chunks;
    model.layers = 2 * plan.chunks;
    tests::expect_golden("programs/" + std::string(schedule.name) + "-2-stages.txt",
                         print_program(build_program(model, training, plan, Implementation{})));
  }
  PlanSpec plan;
  plan.tensor = 2;
  plan.data = 2;
  plan.zero = 1;
  plan.sequence_parallel = true;
  plan.recompute = Recompute::kFull;
  model.layers = 1;
  tests::expect_golden("programs/tensor-data-zero.txt",
                       print_program(build_program(model, training, plan, Implementation{})));
}

}  // namespace
}  // namespace strategies
