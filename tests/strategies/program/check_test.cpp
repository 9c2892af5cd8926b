#include "strategies/program/check.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/programs/handmade.h"

namespace strategies {
namespace {

TEST(CheckProgram, HandmadeProgramsAreWellFormed) {
  for (const tests::HandmadeProgram& handmade : tests::handmade_programs()) {
    EXPECT_EQ(check_program(handmade.make()), std::vector<std::string>{}) << handmade.name;
  }
}

TEST(CheckProgram, PipelinesOfAnySizeAreWellFormed) {
  for (int stages = 1; stages <= 5; ++stages) {
    for (int microbatches = 1; microbatches <= 6; ++microbatches) {
      EXPECT_EQ(check_program(tests::pipeline(stages, microbatches)), std::vector<std::string>{})
          << stages << " stages, " << microbatches << " microbatches";
    }
  }
}

TEST(CheckProgram, EveryCheckHasItsNameAndSummary) {
  std::set<std::string_view> names;
  for (const Check& check : checks()) {
    EXPECT_TRUE(names.insert(check.name).second) << check.name;
    EXPECT_FALSE(check.summary.empty()) << check.name;
  }
  EXPECT_EQ(names.size(), 6U);
}

TEST(CheckProgram, StopsAtReferencesOutOfRange) {
  Program program = tests::pipeline(2, 4);
  program.roles[0].blocks[0].operations[0].reads = {{99}};
  program.roles[0].schedule.pop_back();  // would be a collective without a partner
  EXPECT_EQ(check_program(program),
            std::vector<std::string>{"role 0 \"stage 0\", block 0 (F), operation 0 \"layers\": there is no buffer 99"});
}

TEST(CheckProgram, ReportsWhatEveryCheckFinds) {
  Program program = tests::pipeline(2, 1);
  program.roles[0].blocks[0].operations[0].allocates.clear();
  program.roles[0].blocks[0].operations[1].work = Send{1, hw_models::Bytes(7), Payload::kActivation};
  EXPECT_EQ(check_program(program),
            (std::vector<std::string>{
                "role 0 \"stage 0\", action 0 (block 0 F, microbatch 0), operation 1 \"send\": the activation of "
                "microbatch 0 from virtual stage 0 to 1 is sent with 7 bytes and received by role 1 \"stage 1\" with "
                "2000000",
                "role 0 \"stage 0\", action 0 (block 0 F, microbatch 0), operation 0 \"layers\": buffer 3 \"kept\" is "
                "written but not live",
                "role 0 \"stage 0\", action 0 (block 0 F, microbatch 0), operation 0 \"layers\": buffer 4 \"output\" "
                "is written but not live",
                "role 0 \"stage 0\", action 0 (block 0 F, microbatch 0), operation 1 \"send\": buffer 4 \"output\" is "
                "read but not live",
                "role 0 \"stage 0\", action 1 (block 1 BW, microbatch 0), operation 1 \"layers\": buffer 3 \"kept\" is "
                "read but not live"}));
}

}  // namespace
}  // namespace strategies
