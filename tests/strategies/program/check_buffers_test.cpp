#include <gtest/gtest.h>
#include <utility>

#include "strategies/program/check_parts.h"
#include "tests/programs/handmade.h"
#include "tests/strategies/program/mutation.h"

namespace strategies {
namespace {

Operation& operation(Program& program, std::size_t block, std::size_t index) {
  return program.roles[0].blocks[block].operations[index];
}

// Buffers of tests::single_rank: 0 weights, 1 gradients, 2 optimizer (static), 3 kept (microbatch), 4 scratch (block).
TEST(CheckBuffers, LiveWhenUsedAllocatedOnceFreedOnce) {
  const std::vector<tests::Mutation> mutations = {
      {[](Program& p) { operation(p, 0, 0).allocates.clear(); },
       {"role 0 \"all\", action 0 (block 0 F, microbatch 0), operation 0 \"mlp\": buffer 4 \"scratch\" is written but "
        "not live",
        "role 0 \"all\", action 0 (block 0 F, microbatch 0), operation 1 \"loss\": buffer 4 \"scratch\" is read but "
        "not live"}},
      {[](Program& p) { operation(p, 0, 0).frees = {{4}}; },
       {"role 0 \"all\", action 0 (block 0 F, microbatch 0), operation 1 \"loss\": buffer 4 \"scratch\" is read but "
        "not live"}},
      {[](Program& p) {
         operation(p, 0, 1).allocates = {{3}, {4}};
       },
       {"role 0 \"all\", action 0 (block 0 F, microbatch 0), operation 1 \"loss\": buffer 4 \"scratch\" is allocated "
        "while it is live"}},
      {[](Program& p) {
         operation(p, 1, 0).frees = {{3}, {3}};
       },
       {"role 0 \"all\", action 1 (block 1 BW, microbatch 0), operation 0 \"mlp\": buffer 3 \"kept\" is freed but not "
        "live"}},
      {[](Program& p) { operation(p, 0, 1).frees.clear(); },
       {"role 0 \"all\", action 0 (block 0 F, microbatch 0): buffer 4 \"scratch\" outlives its block"}},
      {[](Program& p) { operation(p, 1, 0).frees.clear(); },
       {"role 0 \"all\": buffer 3 \"kept\" of microbatch 0 is never freed"}},
      {[](Program& p) { operation(p, 2, 1).allocates = {{0}}; },
       {"role 0 \"all\", action 4 (block 2 U), operation 1 \"adam\": buffer 0 \"weights\" is static and allocated"}},
      {[](Program& p) { operation(p, 2, 1).frees = {{1}}; },
       {"role 0 \"all\", action 4 (block 2 U), operation 1 \"adam\": buffer 1 \"gradients\" is static and freed"}},
      // The instance of the other microbatch is meant.
      {[](Program& p) { p.roles[0].schedule[1].microbatch = 1; },
       {"role 0 \"all\", action 1 (block 1 BW, microbatch 1), operation 0 \"mlp\": buffer 3 \"kept\" is read but not "
        "live",
        "role 0 \"all\": buffer 3 \"kept\" of microbatch 0 is never freed"}},
      // Two microbatches at once are two instances.
      {[](Program& p) { std::swap(p.roles[0].schedule[1], p.roles[0].schedule[2]); }, {}},
  };
  tests::expect_defects(check_buffers, tests::single_rank, mutations);
}

}  // namespace
}  // namespace strategies
