#include <gtest/gtest.h>

#include <utility>

#include "strategies/program/check_parts.h"
#include "tests/programs/handmade.h"
#include "tests/strategies/program/mutation.h"

namespace strategies {
namespace {

/// The reduction of the tied embedding: stage 0 and stage 2 of three.
Program three_stages() { return tests::pipeline(3, 2); }

Collective& reduction(Program& program, std::size_t role) {
  return std::get<Collective>(program.roles[role].blocks[2].operations[0].work);
}

TEST(CheckCollectives, MembersIssueTheSame) {
  const std::vector<tests::Mutation> mutations = {
      {[](Program& p) { reduction(p, 2).bytes = hw_models::Bytes(5); },
       {"role 0 \"stage 0\", action 4 (block 2 U), operation 0 \"gradients\": collective 0 in group \"embedding\" is "
        "all-reduce of 40000000 bytes (bf16, auto), for role 2 \"stage 2\", action 4 (block 2 U), operation 0 "
        "\"gradients\" it is all-reduce of 5 bytes (bf16, auto)"}},
      {[](Program& p) { reduction(p, 2).kind = CollectiveKind::kReduce; },
       {"role 0 \"stage 0\", action 4 (block 2 U), operation 0 \"gradients\": collective 0 in group \"embedding\" is "
        "all-reduce of 40000000 bytes (bf16, auto), for role 2 \"stage 2\", action 4 (block 2 U), operation 0 "
        "\"gradients\" it is reduce of 40000000 bytes (bf16, auto)"}},
      {[](Program& p) { reduction(p, 0).algorithm = "ring", reduction(p, 0).dtype = hw_models::DType::kFp32; },
       {"role 0 \"stage 0\", action 4 (block 2 U), operation 0 \"gradients\": collective 0 in group \"embedding\" is "
        "all-reduce of 40000000 bytes (fp32, ring), for role 2 \"stage 2\", action 4 (block 2 U), operation 0 "
        "\"gradients\" it is all-reduce of 40000000 bytes (bf16, auto)"}},
      {[](Program& p) { p.roles[2].schedule.pop_back(); },
       {"role 0 \"stage 0\", action 4 (block 2 U), operation 0 \"gradients\": collective 0 in group \"embedding\" is "
        "all-reduce of 40000000 bytes (bf16, auto), role 2 \"stage 2\" issues none"}},
      {[](Program& p) { p.roles[0].schedule.pop_back(); },
       {"role 2 \"stage 2\", action 4 (block 2 U), operation 0 \"gradients\": collective 0 in group \"embedding\" is "
        "all-reduce of 40000000 bytes (bf16, auto), role 0 \"stage 0\" issues none"}},
      // Stage 1 is in no embedding group.
      {[](Program& p) { p.roles[1].blocks[2] = p.roles[0].blocks[2], p.roles[1].blocks[2].virtual_stage = 1; },
       {"role 1 \"stage 1\", action 4 (block 2 U), operation 0 \"gradients\": a rank of this role is in no group "
        "\"embedding\""}},
  };
  tests::expect_defects(check_collectives, three_stages, mutations);
}

/// Two roles of one data-parallel group whose buckets differ in size.
Program two_buckets() {
  Program program = tests::data_parallel();
  std::get<Collective>(program.roles[0].blocks[2].operations[3].work).bytes = hw_models::Bytes(11);
  program.roles.push_back(program.roles[0]);
  program.roles[1].name = "other";
  program.role_of_rank = {0, 1};
  return program;
}

TEST(CheckCollectives, InTheSameOrder) {
  const std::vector<tests::Mutation> mutations = {
      {[](Program& p) {
         auto& operations = p.roles[1].blocks[2].operations;
         std::swap(operations[1].work, operations[3].work);
       },
       {"role 0 \"all\", action 3 (block 2 BW, microbatch 1), operation 1 \"bucket\": collective 0 in group \"dp\" is "
        "all-reduce of 20000000 bytes (bf16, auto), for role 1 \"other\", action 3 (block 2 BW, microbatch 1), "
        "operation 1 \"bucket\" it is all-reduce of 11 bytes (bf16, auto)"}},
  };
  tests::expect_defects(check_collectives, two_buckets, mutations);
}

TEST(CheckCollectives, RolesThatShareNoGroupMayDiffer) {
  Program program = two_buckets();
  program.groups[0].spans.clear();  // every rank alone
  std::get<Collective>(program.roles[1].blocks[2].operations[1].work).bytes = hw_models::Bytes(1);
  std::vector<std::string> defects;
  check_collectives(program, defects);
  EXPECT_EQ(defects, std::vector<std::string>{});
}

}  // namespace
}  // namespace strategies
