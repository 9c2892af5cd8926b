#include "scenarios/validate/records_file.h"

#include <gtest/gtest.h>

#include <string>

#include "scenarios/load/diagnostics.h"
#include "strategies/program/fingerprint.h"
#include "tests/programs/handmade.h"

namespace scenarios {
namespace {

const strategies::Program& program() {
  static const strategies::Program program = tests::single_rank();
  return program;
}

std::string head() {
  return "fingerprint," + strategies::fingerprint(program()) + "\nrank,step,action,operation,begin_ns,end_ns,label\n";
}

TEST(RecordsFile, ReadsWhatExecuteWrites) {
  const auto records = parse_records(head() + "0,0,0,0,5,17,embedding\n0,1,0,1,20,20,\n", "run.csv", program());
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].rank.value, 0);
  EXPECT_EQ(records[0].begin_ns, 5);
  EXPECT_EQ(records[0].end_ns, 17);
  EXPECT_EQ(records[1].instance.step, 1);
  EXPECT_EQ(records[1].instance.action, 0u);
  EXPECT_EQ(records[1].instance.operation.value, 1u);
  EXPECT_TRUE(parse_records(head(), "run.csv", program()).empty());
}

TEST(RecordsFile, DefectsAreNamedWithTheirLine) {
  const struct {
    std::string text, finding;
  } cases[] = {
      {"", "run.csv:1: error: not a file of records"},
      {"hello\n", "run.csv:1: error: not a file of records"},
      {"\x7f"
       "ELF\x1b[2J\xff" +
           std::string(200, 'x') + "\n",
       "run.csv:1: error: not a file of records\n   ?ELF?[2J?" + std::string(91, 'x') + "...\n"},
      {"fingerprint,00\n", "run.csv:1: error: these are records of another program"},
      {head().substr(0, head().find('\n') + 1) + "a,b\n", "run.csv:2: error: the columns are others"},
      {head() + "0,0,0,0,5,17,x\n0,0,0,zero,5,17,x\n", "run.csv:4: error: a record is six whole numbers"},
      {head() + "0,0,0\n", "run.csv:3: error: a record is six whole numbers"},
      {head() + "7,0,0,0,5,17,x\n", "run.csv:3: error: the scenario's program has no such operation"},
      {head() + "0,0,999,0,5,17,x\n", "run.csv:3: error: the scenario's program has no such operation"},
      {head() + "0,0,0,999,5,17,x\n", "run.csv:3: error: the scenario's program has no such operation"},
      {head() + "0,-1,0,0,5,17,x\n", "run.csv:3: error: the scenario's program has no such operation"},
      {head() + "0,0,0,0,17,5,x\n", "run.csv:3: error: the operation ends before it begins"},
  };
  for (const auto& c : cases) {
    try {
      parse_records(c.text, "run.csv", program());
      ADD_FAILURE() << "accepted: " << c.text;
    } catch (const InputError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(c.finding)) << error.what();
    }
  }
}

}  // namespace
}  // namespace scenarios
