#include <gtest/gtest.h>

#include <utility>

#include "strategies/program/check_parts.h"
#include "tests/programs/handmade.h"
#include "tests/strategies/program/mutation.h"

namespace strategies {
namespace {

TEST(CheckCycles, FindsNothingInHandmadePrograms) {
  for (const tests::HandmadeProgram& handmade : tests::handmade_programs()) {
    std::vector<std::string> defects;
    check_cycles(handmade.make(), defects);
    EXPECT_EQ(defects, std::vector<std::string>{}) << handmade.name;
  }
}

TEST(CheckCycles, ThroughMessages) {
  const auto make = [] { return tests::pipeline(2, 1); };
  const std::vector<tests::Mutation> mutations = {
      // Stage 0 wants the gradient before it computes what the gradient is of.
      {[](Program& p) { std::swap(p.roles[0].schedule[0], p.roles[0].schedule[1]); },
       {"operations wait for each other: "
        "role 0 \"stage 0\", action 0 (block 1 BW, microbatch 0), operation 0 \"receive\" waits for "
        "role 1 \"stage 1\", action 1 (block 1 BW, microbatch 0), operation 1 \"send\" waits for "
        "role 1 \"stage 1\", action 1 (block 1 BW, microbatch 0), operation 0 \"layers\" waits for "
        "role 1 \"stage 1\", action 0 (block 0 F, microbatch 0), operation 1 \"layers\" waits for "
        "role 1 \"stage 1\", action 0 (block 0 F, microbatch 0), operation 0 \"receive\" waits for "
        "role 0 \"stage 0\", action 1 (block 0 F, microbatch 0), operation 1 \"send\" waits for "
        "role 0 \"stage 0\", action 1 (block 0 F, microbatch 0), operation 0 \"layers\" waits for "
        "role 0 \"stage 0\", action 0 (block 1 BW, microbatch 0), operation 1 \"layers\" waits for the first"}},
  };
  tests::expect_defects(check_cycles, make, mutations);
}

/// Two ranks of different roles reduce over two families on one lane.
Program two_families() {
  Program program = tests::data_parallel();
  program.groups.push_back(program.groups[0]);
  program.groups[1].name = "again";
  std::get<Collective>(program.roles[0].blocks[2].operations[3].work).group = {1};
  program.roles.push_back(program.roles[0]);
  program.roles[1].name = "other";
  program.role_of_rank = {0, 1};
  return program;
}

TEST(CheckCycles, ThroughCollectivesInOppositeOrder) {
  const std::vector<tests::Mutation> mutations = {
      {[](Program& p) {
         auto& operations = p.roles[1].blocks[2].operations;
         std::swap(operations[1].work, operations[3].work);
       },
       {"operations wait for each other: "
        "role 0 \"all\", action 3 (block 2 BW, microbatch 1), operation 1 \"bucket\" waits for "
        "role 0 \"all\", action 3 (block 2 BW, microbatch 1), operation 3 \"bucket\" waits for the first"}},
  };
  tests::expect_defects(check_cycles, two_families, mutations);
}

}  // namespace
}  // namespace strategies
