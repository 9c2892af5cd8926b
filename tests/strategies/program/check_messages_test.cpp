#include <gtest/gtest.h>

#include "strategies/program/check_parts.h"
#include "tests/programs/handmade.h"
#include "tests/strategies/program/mutation.h"

namespace strategies {
namespace {

TEST(CheckMessages, OfAPipeline) {
  const auto make = [] { return tests::pipeline(2, 2); };
  const std::vector<tests::Mutation> mutations = {
      // Stage 1 loses its receives.
      {[](Program& p) { p.roles[1].blocks[0].operations[0].work = Compute{}; },
       {"role 0 \"stage 0\", action 0 (block 0 F, microbatch 0), operation 1 \"send\": role 1 \"stage 1\" never "
        "receives "
        "the activation of microbatch 0 from virtual stage 0 to 1",
        "role 0 \"stage 0\", action 1 (block 0 F, microbatch 1), operation 1 \"send\": role 1 \"stage 1\" never "
        "receives "
        "the activation of microbatch 1 from virtual stage 0 to 1"}},
      // Stage 1 never runs its second backward.
      {[](Program& p) { p.roles[1].schedule.erase(p.roles[1].schedule.begin() + 3); },
       {"role 0 \"stage 0\", action 3 (block 1 BW, microbatch 1), operation 0 \"receive\": role 1 \"stage 1\" never "
        "sends the gradient of microbatch 1 from virtual stage 1 to 0"}},
      // It runs the first one twice instead.
      {[](Program& p) { p.roles[1].schedule[3].microbatch = 0; },
       {"role 1 \"stage 1\", action 3 (block 1 BW, microbatch 0), operation 1 \"send\": the gradient of microbatch 0 "
        "from virtual stage 1 to 0 is sent twice"}},
      {[](Program& p) { p.roles[0].schedule[3].microbatch = 0; },
       {"role 0 \"stage 0\", action 3 (block 1 BW, microbatch 0), operation 0 \"receive\": the gradient of microbatch "
        "0 from virtual stage 1 to 0 is received twice"}},
      {[](Program& p) { std::get<Send>(p.roles[1].blocks[1].operations[1].work).payload = Payload::kActivation; },
       {"role 1 \"stage 1\", action 1 (block 1 BW, microbatch 0), operation 1 \"send\": role 0 \"stage 0\" never "
        "receives the activation of microbatch 0 from virtual stage 1 to 0",
        "role 0 \"stage 0\", action 2 (block 1 BW, microbatch 0), operation 0 \"receive\": role 1 \"stage 1\" never "
        "sends the gradient of microbatch 0 from virtual stage 1 to 0",
        "role 1 \"stage 1\", action 3 (block 1 BW, microbatch 1), operation 1 \"send\": role 0 \"stage 0\" never "
        "receives the activation of microbatch 1 from virtual stage 1 to 0",
        "role 0 \"stage 0\", action 3 (block 1 BW, microbatch 1), operation 0 \"receive\": role 1 \"stage 1\" never "
        "sends the gradient of microbatch 1 from virtual stage 1 to 0"}},
  };
  tests::expect_defects(check_messages, make, mutations);
}

TEST(CheckMessages, BytesMustAgree) {
  const auto make = [] { return tests::pipeline(2, 1); };
  const std::vector<tests::Mutation> mutations = {
      {[](Program& p) { std::get<Receive>(p.roles[0].blocks[1].operations[0].work).bytes = hw_models::Bytes(1); },
       {"role 1 \"stage 1\", action 1 (block 1 BW, microbatch 0), operation 1 \"send\": the gradient of microbatch 0 "
        "from virtual stage 1 to 0 is sent with 2000000 bytes and received by role 0 \"stage 0\" with 1"}},
  };
  tests::expect_defects(check_messages, make, mutations);
}

/// Every replica exchanges messages within itself: the counts of one do not bind the other.
TEST(CheckMessages, OfUnequalReplicas) {
  const std::vector<tests::Mutation> mutations = {
      {[](Program& p) {
         p.role_of_rank = {0, 1, 3, 2};
       },
       {"role 0 \"stage 0, replica 0\", action 3 (block 0 F, microbatch 2), operation 1 \"send\": role 3 \"stage 1, "
        "replica 1\" never receives the activation of microbatch 2 from virtual stage 0 to 1",
        "role 0 \"stage 0, replica 0\", action 5 (block 0 F, microbatch 3), operation 1 \"send\": role 3 \"stage 1, "
        "replica 1\" never receives the activation of microbatch 3 from virtual stage 0 to 1",
        "role 2 \"stage 1, replica 0\", action 4 (block 0 F, microbatch 2), operation 0 \"receive\": role 1 \"stage 0, "
        "replica 1\" never sends the activation of microbatch 2 from virtual stage 0 to 1",
        "role 2 \"stage 1, replica 0\", action 6 (block 0 F, microbatch 3), operation 0 \"receive\": role 1 \"stage 0, "
        "replica 1\" never sends the activation of microbatch 3 from virtual stage 0 to 1",
        "role 2 \"stage 1, replica 0\", action 5 (block 1 BW, microbatch 2), operation 1 \"send\": role 1 \"stage 0, "
        "replica 1\" never receives the gradient of microbatch 2 from virtual stage 1 to 0",
        "role 2 \"stage 1, replica 0\", action 7 (block 1 BW, microbatch 3), operation 1 \"send\": role 1 \"stage 0, "
        "replica 1\" never receives the gradient of microbatch 3 from virtual stage 1 to 0",
        "role 0 \"stage 0, replica 0\", action 6 (block 1 BW, microbatch 2), operation 0 \"receive\": role 3 \"stage "
        "1, replica 1\" never sends the gradient of microbatch 2 from virtual stage 1 to 0",
        "role 0 \"stage 0, replica 0\", action 7 (block 1 BW, microbatch 3), operation 0 \"receive\": role 3 \"stage "
        "1, replica 1\" never sends the gradient of microbatch 3 from virtual stage 1 to 0"}},
  };
  tests::expect_defects(check_messages, tests::unequal_replicas, mutations);
}

}  // namespace
}  // namespace strategies
