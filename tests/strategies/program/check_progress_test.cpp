#include <gtest/gtest.h>

#include <utility>

#include "strategies/program/check_parts.h"
#include "tests/programs/handmade.h"
#include "tests/strategies/program/mutation.h"

namespace strategies {
namespace {

Operation loss_read() {
  Operation operation;
  operation.work = Host{HostReason::kLossRead, 0};
  operation.lane = Lane::kHost;
  operation.origin.label = "loss";
  return operation;
}

TEST(CheckProgress, SaysWhatEveryRoleHangsOn) {
  const auto make = [] { return tests::pipeline(2, 1); };
  const std::vector<tests::Mutation> mutations = {
      // Stage 1 waits for a message that nobody sends; stage 0 for the gradient of it.
      {[](Program& p) { p.roles[0].blocks[0].operations[1].work = Compute{}; },
       {"an untimed run stops: in step 0, role 0 \"stage 0\", action 1 (block 1 BW, microbatch 0), operation 0 "
        "\"receive\" does not complete",
        "an untimed run stops: in step 0, role 1 \"stage 1\", action 0 (block 0 F, microbatch 0), operation 0 "
        "\"receive\" does not complete"}},
      // The reduction of the tied embedding misses a member.
      {[](Program& p) { p.roles[1].blocks[2].operations[0].work = Compute{}; },
       {"an untimed run stops: in step 0, role 0 \"stage 0\", action 2 (block 2 U), operation 0 \"gradients\" does not "
        "complete",
        "an untimed run stops: in step 1, role 1 \"stage 1\", action 0 (block 0 F, microbatch 0), operation 0 "
        "\"receive\" does not complete"}},
  };
  tests::expect_defects(check_progress, make, mutations);
}

/// Stage 0 reads the gradient on the host before it issues the forward: no cycle among operations, yet nothing moves.
TEST(CheckProgress, SeesWhatTheHostBlocks) {
  Program program = tests::pipeline(2, 1);
  Role& first = program.roles[0];
  Block early = first.blocks[1];
  early.operations.erase(early.operations.begin() + 1);
  early.operations.push_back(loss_read());
  first.blocks[1].operations.erase(first.blocks[1].operations.begin());
  first.blocks[1].operations[0].after.clear();
  first.blocks.push_back(early);
  first.schedule[2].after.clear();
  first.schedule.insert(first.schedule.begin(), Action{3, 0, {}});
  std::vector<std::string> cycles, hangs;
  check_cycles(program, cycles);
  check_progress(program, hangs);
  EXPECT_EQ(cycles, std::vector<std::string>{});
  EXPECT_EQ(hangs,
            (std::vector<std::string>{
                "an untimed run stops: in step 0, role 0 \"stage 0\", action 0 (block 3 BW, microbatch 0), operation 0 "
                "\"receive\" does not complete",
                "an untimed run stops: in step 0, role 1 \"stage 1\", action 0 (block 0 F, microbatch 0), operation 0 "
                "\"receive\" does not complete"}));
}

/// Both steps of unequal schedules finish in whatever order the roles advance.
TEST(CheckProgress, HandmadeProgramsFinish) {
  for (const tests::HandmadeProgram& handmade : tests::handmade_programs()) {
    std::vector<std::string> defects;
    check_progress(handmade.make(), defects);
    EXPECT_EQ(defects, std::vector<std::string>{}) << handmade.name;
  }
}

}  // namespace
}  // namespace strategies
