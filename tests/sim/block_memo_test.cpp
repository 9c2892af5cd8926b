#include "sim/block_memo.h"

#include <gtest/gtest.h>

#include "tests/sim/step_programs.h"

namespace sim {
namespace {

using strategies::Lane;
using strategies::Payload;

/// Block 0 of stage 1: receive, compute 10, all-reduce 6, compute 4 that needs it, send 3; issue 2 each.
struct MiddleStage {
  MiddleStage() {
    program.roles[0].blocks = {{.virtual_stage = 0, .operations = {tests::send_to(1, Payload::kActivation, {})}}};
    program.roles[1].blocks = {{.virtual_stage = 1,
                                .operations = {tests::receive_from(0, Payload::kActivation),
                                               tests::timed(Lane::kCompute, 10, strategies::Phase::kForward, {{0}}),
                                               tests::timed(Lane::kTensor, 6, strategies::Phase::kForward, {{1}}),
                                               tests::timed(Lane::kCompute, 4, strategies::Phase::kForward, {{2}}),
                                               tests::send_to(2, Payload::kActivation, {{3}})}}};
    program.roles[2].blocks = {{.virtual_stage = 2, .operations = {tests::receive_from(1, Payload::kActivation)}}};
    for (auto& role : program.roles) role.schedule = {{0, 0, {}}};
  }
  strategies::Program program = tests::empty_program(1, 3, 1);
};

/// Inputs in the order tensor, send-next, receive-previous, host, arrival, sent.
struct Entry {
  Inputs inputs;
  std::size_t evaluations;  ///< so far, this entry included
  std::int64_t compute_free;
};

TEST(BlockMemo, OnlyInputsThatMatterTellCallsApart) {
  const MiddleStage middle;
  const Prices prices = tests::timed_prices(middle.program, 3, 2, 0);
  const Rendezvous rendezvous(middle.program, prices);
  const FlatProcess process(middle.program, 1, prices, rendezvous);
  ASSERT_EQ(process.shapes[0].lanes, (std::vector<Lane>{Lane::kTensor, Lane::kSendNext, Lane::kReceivePrevious}));

  BlockMemo memo;
  const Entry entries[] = {
      {{-90, -90, -90, -100, -5, -8}, 1, 20},  // nothing but the compute lane's own work: 10 + 6 + 4
      {{-70, -30, -80, -777, -5, -8}, 1, 20},  // the host is further ahead, lanes have been free for longer
      {{9, 19, -80, -777, -5, -8}, 1, 20},     // lanes free just in time
      {{10, 19, -80, -777, -5, -8}, 2, 20},    // the tensor lane binds as well
      {{12, 19, -80, -777, -5, -8}, 3, 22},    // and now it alone
      {{-90, -90, -90, -100, 7, 4}, 4, 27},    // the message is late
      {{-50, -90, -20, -300, 7, 4}, 4, 27},    // the same lateness
      {{-50, -90, -20, -300, 7, 5}, 5, 27},    // sent later: more bubble, less transfer
      {{-90, -90, -90, 1, -5, -8}, 6, 25},     // the host is late: issues the first computation at 1 + 2 * 2
  };
  for (const Entry& entry : entries) {
    const BlockOutcome& outcome = memo.outcome(process.blocks[0], process.shapes[0], entry.inputs, false);
    EXPECT_EQ(memo.evaluations(), entry.evaluations);
    EXPECT_EQ(outcome.compute_free, entry.compute_free);
    EXPECT_TRUE(outcome.host_runs_through);
    EXPECT_EQ(outcome.host.time, 5 * 2);
  }
}

TEST(BlockMemo, ForgetsInsteadOfGrowingWithoutEnd) {
  const MiddleStage middle;
  const Prices prices = tests::timed_prices(middle.program, 3, 2, 0);
  const Rendezvous rendezvous(middle.program, prices);
  const FlatProcess process(middle.program, 1, prices, rendezvous);
  BlockMemo memo;
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t late = 1; late <= 1000; ++late) {
      const Inputs inputs{-90, -90, -90, -100, late, late - 3};
      EXPECT_EQ(memo.outcome(process.blocks[0], process.shapes[0], inputs, false).compute_free, late + 20);
    }
  }
  EXPECT_EQ(memo.evaluations(), 2000U);
}

}  // namespace
}  // namespace sim
