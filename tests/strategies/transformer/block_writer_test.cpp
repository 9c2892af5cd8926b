#include "strategies/transformer/block_writer.h"

#include <gtest/gtest.h>

namespace strategies {
namespace {

hw_models::Kernel kernel() { return hw_models::Measured{1e-3}; }

class BlockWriterTest : public testing::Test {
 protected:
  Role role_;
  BlockWriter writer_{role_, Block{BlockKind::kForward, Variant::kOnly, 0, 0, false, {}}};

  const std::vector<Operation>& finish() { return role_.blocks[writer_.finish()].operations; }
};

TEST_F(BlockWriterTest, TheFirstWriteAllocatesAndStaticBuffersNever) {
  const BufferId weight = add_buffer(role_, "weight", 8, Holds::kWeights, Lifetime::kStatic);
  const BufferId kept = add_buffer(role_, "kept", 8, Holds::kActivations, Lifetime::kMicrobatch);
  writer_.compute(kernel(), "produce", {weight}, {kept, weight});
  writer_.compute(kernel(), "again", {}, {kept});
  const auto& operations = finish();
  EXPECT_EQ(operations[0].allocates, std::vector<BufferId>{kept});
  EXPECT_TRUE(operations[1].allocates.empty());
}

TEST_F(BlockWriterTest, WhatIsReadAndWrittenWasThereBefore) {
  const BufferId kept = add_buffer(role_, "kept", 8, Holds::kActivations, Lifetime::kMicrobatch);
  writer_.compute(kernel(), "in-place", {kept}, {kept});  // allocated by another block
  EXPECT_TRUE(finish()[0].allocates.empty());
}

TEST_F(BlockWriterTest, FreedTemporariesAreTakenAgain) {
  const BufferId first = writer_.temporary("t", 16);
  const BufferId second = writer_.temporary("t", 16);
  EXPECT_NE(first, second) << "both are in use";
  writer_.compute(kernel(), "write", {}, {first, second});
  writer_.free(first);
  EXPECT_EQ(writer_.temporary("t", 16), first);
  EXPECT_NE(writer_.temporary("t", 32), first) << "another size";
  const auto& operations = finish();
  EXPECT_EQ(operations[0].allocates, (std::vector<BufferId>{first, second}));
  EXPECT_EQ(operations[0].frees, std::vector<BufferId>{first});
}

TEST_F(BlockWriterTest, CollectivesFollowTheComputeAndComputeWaitsOnlyWhereAsked) {
  const BufferId x = writer_.temporary("x", 8);
  const OperationId produced = writer_.compute(kernel(), "produce", {}, {x});
  const OperationId reduced = writer_.collective(CollectiveKind::kAllReduce, {0}, 8, hw_models::DType::kBf16,
                                                 Lane::kTensor, "reduce", {x}, {x});
  writer_.compute(kernel(), "beside", {}, {});
  writer_.wait_for(reduced);
  writer_.compute(kernel(), "after", {x}, {});
  writer_.compute(kernel(), "later", {x}, {});
  const auto& operations = finish();
  EXPECT_EQ(operations[reduced.value].after, std::vector<OperationId>{produced});
  EXPECT_TRUE(operations[2].after.empty());
  EXPECT_EQ(operations[3].after, std::vector<OperationId>{reduced});
  EXPECT_TRUE(operations[4].after.empty()) << "the lane is in order";
}

TEST_F(BlockWriterTest, ComputeWaitsForAReceiveAndASendForTheCompute) {
  const BufferId x = writer_.temporary("x", 8);
  const OperationId received = writer_.receive(0, 8, Payload::kActivation, Lane::kReceivePrevious, x);
  const OperationId computed = writer_.compute(kernel(), "f", {x}, {x});
  const OperationId sent = writer_.send(2, 8, Payload::kActivation, Lane::kSendNext, x);
  const auto& operations = finish();
  EXPECT_EQ(operations[computed.value].after, std::vector<OperationId>{received});
  EXPECT_EQ(operations[sent.value].after, std::vector<OperationId>{computed});
}

// A host operation behind everything that is issued, none behind work of the host itself.
TEST(BlockWriter, BlockingLaunchesMakeTheHostWaitForEachOperation) {
  Role role;
  BlockWriter writer(role, Block{BlockKind::kForward, Variant::kOnly, 0, 0, false, {}}, true);
  const BufferId x = writer.temporary("x", 8);
  const OperationId produced = writer.compute(kernel(), "produce", {}, {x});
  const OperationId reduced =
      writer.collective(CollectiveKind::kAllReduce, {0}, 8, hw_models::DType::kBf16, Lane::kTensor, "reduce", {x}, {x});
  writer.host(HostReason::kInput, {});
  writer.wait_for(reduced);
  const OperationId after = writer.compute(kernel(), "after", {x}, {});
  const auto& operations = role.blocks[writer.finish()].operations;
  ASSERT_EQ(operations.size(), 7U);
  for (const OperationId issued : {produced, reduced, after}) {
    const Operation& behind = operations[issued.value + 1];
    const auto* host = std::get_if<Host>(&behind.work);
    ASSERT_NE(host, nullptr);
    EXPECT_EQ(host->reason, HostReason::kBlockingLaunch);
    EXPECT_EQ(behind.after, std::vector<OperationId>{issued});
  }
  EXPECT_EQ(operations[reduced.value].after, std::vector<OperationId>{produced});
  EXPECT_EQ(operations[after.value].after, std::vector<OperationId>{reduced});
}

TEST_F(BlockWriterTest, OriginIsThatOfThePlaceInTheModel) {
  writer_.at(7, Phase::kBackward);
  writer_.compute(kernel(), "dgrad", {}, {});
  EXPECT_EQ(finish()[0].origin, (Origin{7, Phase::kBackward, "dgrad"}));
}

}  // namespace
}  // namespace strategies
