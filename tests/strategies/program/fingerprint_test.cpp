#include "strategies/program/fingerprint.h"

#include <gtest/gtest.h>

#include <set>

#include "strategies/program/text.h"
#include "tests/programs/handmade.h"
#include "tests/strategies/program/random_program.h"

namespace strategies {
namespace {

TEST(Fingerprint, Is32HexadecimalDigits) {
  const std::string print = fingerprint(tests::single_rank());
  EXPECT_EQ(print.size(), 32U);
  EXPECT_EQ(print.find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(Fingerprint, EqualProgramsHaveEqualFingerprints) {
  for (const tests::HandmadeProgram& handmade : tests::handmade_programs()) {
    EXPECT_EQ(fingerprint(handmade.make()), fingerprint(parse_program(print_program(handmade.make()))));
  }
}

TEST(Fingerprint, SmallChangesChangeIt) {
  const std::string before = fingerprint(tests::data_parallel());
  std::set<std::string> prints{before};
  Program program = tests::data_parallel();
  program.implementation += "!";
  prints.insert(fingerprint(program));
  program = tests::data_parallel();
  program.samples_per_step += 1;
  prints.insert(fingerprint(program));
  program = tests::data_parallel();
  program.roles[0].blocks[2].operations[1].lane = Lane::kTensor;
  prints.insert(fingerprint(program));
  program = tests::data_parallel();
  std::swap(program.roles[0].schedule[0], program.roles[0].schedule[1]);
  prints.insert(fingerprint(program));
  EXPECT_EQ(prints.size(), 5U);
}

TEST(Fingerprint, DistinguishesRandomPrograms) {
  std::set<std::string> texts, prints;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    texts.insert(print_program(tests::random_program(seed)));
    prints.insert(fingerprint(tests::random_program(seed)));
  }
  EXPECT_EQ(prints.size(), texts.size());
}

/// The same digits on every machine, computed once by an independent program from the text
/// "program \"\"\nstages\nranks\n".
TEST(Fingerprint, IsStable) { EXPECT_EQ(fingerprint(Program{}), "7ab4bd20888b37a0a5f7ea58df3f06fa"); }

}  // namespace
}  // namespace strategies
