#include <gtest/gtest.h>

#include "strategies/program/check_parts.h"
#include "tests/programs/handmade.h"
#include "tests/strategies/program/mutation.h"

namespace strategies {
namespace {

Operation& operation(Program& program, std::size_t block, std::size_t index) {
  return program.roles[0].blocks[block].operations[index];
}

TEST(CheckReferences, ViewsGroupsAndRanks) {
  const std::vector<tests::Mutation> mutations = {
      {[](Program& p) { p.views.clear(), p.groups.clear(); }, {"the program has no view of its ranks"}},
      {[](Program& p) { p.views[0].dimensions[0].extent = 0; }, {"view 0, dimension \"tp\": extent 0 is not positive"}},
      {[](Program& p) { p.views[1].dimensions[2].extent = 3; }, {"view 1 has 12 ranks, the program 8"}},
      {[](Program& p) { p.views[1].dimensions[0].name = "ep"; }, {"view 1 has two dimensions \"ep\""}},
      {[](Program& p) { p.groups[1].view = 2; }, {"group 1 \"ep\": there is no view 2"}},
      {[](Program& p) { p.groups[1].spans[0].dimension = 3; }, {"group 1 \"ep\": view 1 has no dimension 3"}},
      {[](Program& p) { p.groups[1].spans.push_back(p.groups[1].spans[0]); },
       {"group 1 \"ep\": dimension 1 is listed twice"}},
      {[](Program& p) {
         p.groups[1].spans[0].coordinates = {2, 1};
       },
       {"group 1 \"ep\": the coordinates of \"ep\" do not ascend from 0 to at most 3"}},
      {[](Program& p) {
         p.groups[1].spans[0].coordinates = {0, 4};
       },
       {"group 1 \"ep\": the coordinates of \"ep\" do not ascend from 0 to at most 3"}},
      {[](Program& p) { p.stage_of_virtual[0] = 1; }, {"virtual stage 0: there is no stage 1"}},
      {[](Program& p) { p.role_of_rank[5] = 1; }, {"rank 5: there is no role 1"}},
      {[](Program& p) { p.roles.emplace_back().name = "idle"; }, {"role 1 \"idle\": no rank has this role"}},
  };
  tests::expect_defects(check_references, tests::expert_parallel, mutations);
}

TEST(CheckReferences, Operations) {
  const std::vector<tests::Mutation> mutations = {
      {[](Program& p) { operation(p, 0, 2).after = {{2}}; },
       {"role 0 \"all\", block 0 (F), operation 2 \"experts\": it waits for 2, which is not earlier"}},
      {[](Program& p) { operation(p, 0, 4).frees = {{5}}; },
       {"role 0 \"all\", block 0 (F), operation 4 \"combine\": there is no buffer 5"}},
      {[](Program& p) { operation(p, 0, 0).lane = Lane::kHost; },
       {"role 0 \"all\", block 0 (F), operation 0 \"route\": the host lane holds the host's work and nothing else"}},
      {[](Program& p) { operation(p, 0, 0).work = Host{}; },
       {"role 0 \"all\", block 0 (F), operation 0 \"route\": the host lane holds the host's work and nothing else"}},
      {[](Program& p) { std::get<Collective>(operation(p, 0, 1).work).group = {7}; },
       {"role 0 \"all\", block 0 (F), operation 1 \"dispatch\": there is no group 7"}},
      {[](Program& p) { std::get<Collective>(operation(p, 0, 1).work).member_bytes.pop_back(); },
       {"role 0 \"all\", block 0 (F), operation 1 \"dispatch\": it lists the bytes of 3 members, the group has 4"}},
      {[](Program& p) { std::get<Collective>(operation(p, 0, 1).work).bytes = hw_models::Bytes(-1); },
       {"role 0 \"all\", block 0 (F), operation 1 \"dispatch\": -1 bytes"}},
      {[](Program& p) {
         operation(p, 1, 0).work = Send{1, {}, {}};
       },
       {"role 0 \"all\", block 1 (BW), operation 0 \"layer\": there is no virtual stage 1"}},
      {[](Program& p) {
         operation(p, 1, 0).work = Receive{-1, {}, {}};
       },
       {"role 0 \"all\", block 1 (BW), operation 0 \"layer\": there is no virtual stage -1"}},
      {[](Program& p) { operation(p, 1, 0).work = Checkpoint{hw_models::Bytes(-5)}; },
       {"role 0 \"all\", block 1 (BW), operation 0 \"layer\": -5 bytes"}},
      {[](Program& p) { p.roles[0].buffers[1].size = hw_models::Bytes(-2); },
       {"role 0 \"all\", buffer \"gradients\": -2 bytes"}},
  };
  tests::expect_defects(check_references, tests::expert_parallel, mutations);
}

TEST(CheckReferences, Schedule) {
  const std::vector<tests::Mutation> mutations = {
      {[](Program& p) { p.roles[0].schedule[1].block = 3; }, {"role 0 \"all\", action 1: there is no block 3"}},
      {[](Program& p) { p.roles[0].schedule[1].microbatch = -2; },
       {"role 0 \"all\", action 1: there is no microbatch -2"}},
      {[](Program& p) { p.roles[0].schedule[2].after[0].action = 2; },
       {"role 0 \"all\", action 2 (block 2 U): it waits for action 2, 0 steps back, which is not earlier"}},
      {[](Program& p) { p.roles[0].schedule[2].after[0].steps_back = -1; },
       {"role 0 \"all\", action 2 (block 2 U): it waits for action 1, -1 steps back, which is not earlier"}},
      {[](Program& p) { p.roles[0].schedule[2].after[0].operation = {1}; },
       {"role 0 \"all\", action 2 (block 2 U): action 1 has no operation 1 to wait for"}},
      {[](Program& p) { p.roles[0].schedule[2].after[0].dependent = {3}; },
       {"role 0 \"all\", action 2 (block 2 U): it has no operation 3"}},
      // One step back, any action is earlier.
      {[](Program& p) { p.roles[0].schedule[2].after[0].action = 2, p.roles[0].schedule[2].after[0].steps_back = 1; },
       {}},
  };
  tests::expect_defects(check_references, tests::expert_parallel, mutations);
}

TEST(CheckReferences, Stages) {
  const auto make = [] { return tests::pipeline(2, 4); };
  const std::vector<tests::Mutation> mutations = {
      {[](Program& p) { p.roles[1].stage = 0; },
       {"role 1 \"stage 1\": it belongs to stage 0, its rank 1 to stage 1",
        "role 1 \"stage 1\", block 0 (F): virtual stage 1 is on another stage",
        "role 1 \"stage 1\", block 1 (BW): virtual stage 1 is on another stage",
        "role 1 \"stage 1\", block 2 (U): virtual stage 1 is on another stage"}},
      {[](Program& p) { p.roles[1].blocks[2].virtual_stage = 2; },
       {"role 1 \"stage 1\", block 2 (U): there is no virtual stage 2"}},
  };
  tests::expect_defects(check_references, make, mutations);
}

}  // namespace
}  // namespace strategies
