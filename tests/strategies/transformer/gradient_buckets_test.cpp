#include "strategies/transformer/gradient_buckets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/programs/small_plans.h"

namespace strategies {
namespace {

Program made(const PlanSpec& plan, const Implementation& implementation = {}) {
  return build_program(tests::small_model(), tests::small_training(), plan, implementation);
}

PlanSpec sharded(int zero) {
  PlanSpec plan;
  plan.data = 4;
  plan.zero = zero;
  return plan;
}

const Buffer& buffer_of(const Role& role, const std::string& name) {
  return *std::ranges::find(role.buffers, name, &Buffer::name);
}

std::int64_t shards_of(const Role& role, Holds holds) {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : role.buffers) {
    if (buffer.holds == holds && buffer.lifetime == Lifetime::kStatic) bytes += buffer.size.value();
  }
  return bytes;
}

// fp32 gradients, 4 bytes: ZeRO 2 and 3 hold a quarter of them, and only that.
TEST(GradientBuckets, OnlyShardsOutliveTheBackwardPass) {
  Implementation implementation;
  implementation.vocabulary_multiple = 1;
  const std::int64_t parameters = count_parameters(tests::small_model()).total;
  ASSERT_EQ(parameters % 4, 0);
  EXPECT_EQ(shards_of(made(sharded(1), implementation).roles.front(), Holds::kGradients), 4 * parameters);
  for (const int zero : {2, 3}) {
    EXPECT_EQ(shards_of(made(sharded(zero), implementation).roles.front(), Holds::kGradients), parameters);
  }
  PlanSpec whole = sharded(3);
  whole.reduce_each_microbatch = false;
  EXPECT_EQ(shards_of(made(whole, implementation).roles.front(), Holds::kGradients), 4 * parameters);
}

// The root's gradients are complete last. In its place every layer's go out before those of the next but one are made.
TEST(GradientBuckets, AtMostTwoLayersGradientsAreWhole) {
  for (const bool fused : {true, false}) {
    Implementation implementation;
    implementation.fused_gradient_accumulation = fused;
    const Program program = made(sharded(3), implementation);
    const Role& role = program.roles.front();
    const auto backward = std::ranges::find(role.blocks, BlockKind::kBackward, &Block::kind);
    std::multiset<std::string> alive;
    std::size_t most = 0;
    for (const Operation& operation : backward->operations) {
      const auto layers = [&](const std::vector<BufferId>& buffers, auto act) {
        for (const BufferId id : buffers) {
          const Buffer& buffer = role.buffers[id.value];
          const std::string& name = buffer.slice.parameter;
          if (buffer.holds == Holds::kGradients && name.starts_with("layers.")) act(name.substr(0, name.find('.', 7)));
        }
      };
      layers(operation.allocates, [&](const std::string& layer) { alive.insert(layer); });
      most = std::max(most, std::set<std::string>(alive.begin(), alive.end()).size());
      layers(operation.frees, [&](const std::string& layer) { alive.erase(alive.find(layer)); });
    }
    EXPECT_EQ(most, fused ? 2U : 1U);  // otherwise the copy that is sent is what is left of the layer before
    EXPECT_TRUE(alive.empty());
  }
}

TEST(GradientBuckets, TheNextReductionWaitsForTheOneBefore) {
  Implementation implementation;
  implementation.fused_gradient_accumulation = false;  // products in bf16, sums in fp32
  const Program program = made(sharded(3), implementation);
  const auto& blocks = program.roles.front().blocks;
  const Block& backward = *std::ranges::find(blocks, BlockKind::kBackward, &Block::kind);
  int packs = 0, last = -1;
  for (std::uint32_t i = 0; i < backward.operations.size(); ++i) {
    const Operation& operation = backward.operations[i];
    if (operation.origin.label == "shard-gradients") last = static_cast<int>(i);
    if (operation.origin.label != "pack-gradients") continue;
    if (packs++ == 0) continue;
    EXPECT_NE(std::ranges::find(operation.after, OperationId{static_cast<std::uint32_t>(last)}), operation.after.end());
  }
  EXPECT_EQ(packs, 8 + 1);
}

// 5 rows over 4 replicas are 2 each, 8 in all; as a flat range of 5 x 3 elements they are 4 each, 16 in all.
TEST(GradientBuckets, UnevenShardsArePadded) {
  ModelSpec model = tests::small_model();
  model.vocabulary = 1001;
  Implementation implementation;
  implementation.vocabulary_multiple = 1;
  const auto shard = [&](bool rows) {
    implementation.shards_rows = rows;
    const Program program = build_program(model, tests::small_training(), sharded(3), implementation);
    return buffer_of(program.roles.front(), "shard:embedding.weight").size.value();
  };
  EXPECT_EQ(shard(false), 1001 * 64 / 4 * 2);
  EXPECT_EQ(shard(true), 251 * 64 * 2);
}

// Sets of two: neighbours share, and the second of each set has the same pieces.
TEST(GradientBuckets, SetsOfShardsSumTheirPieces) {
  PlanSpec plan = sharded(3);
  plan.shard = 2;
  const Program program = made(plan);
  const auto members = [&](const std::string& name) {
    const Group& group = *std::ranges::find(program.groups, name, &Group::name);
    return group.members(program.views[static_cast<std::size_t>(group.view)], Rank{1});
  };
  EXPECT_EQ(members("shard"), (std::vector<Rank>{{0}, {1}}));
  EXPECT_EQ(members("replicate"), (std::vector<Rank>{{1}, {3}}));
  std::int64_t scattered = 0, summed = 0;
  for (const Operation& operation : program.roles.front().blocks[1].operations) {
    const auto* collective = std::get_if<Collective>(&operation.work);
    if (operation.origin.label == "scatter-gradients") scattered += collective->bytes.value();
    if (operation.origin.label == "shard-gradients") summed += collective->bytes.value();
  }
  EXPECT_GT(scattered, 0);
  EXPECT_EQ(summed, scattered / 2);
}

}  // namespace
}  // namespace strategies
