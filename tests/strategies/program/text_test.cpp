#include "strategies/program/text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/golden/golden.h"
#include "tests/programs/handmade.h"
#include "tests/strategies/program/random_program.h"

namespace strategies {
namespace {

TEST(PrintProgram, HandmadeProgramsMatchTheirGoldenFiles) {
  for (const tests::HandmadeProgram& handmade : tests::handmade_programs()) {
    tests::expect_golden(fmt::format("programs/{}.txt", handmade.name), print_program(handmade.make()));
  }
}

TEST(ParseProgram, ReadsWhatPrintWrites) {
  for (const tests::HandmadeProgram& handmade : tests::handmade_programs()) {
    const Program program = handmade.make();
    EXPECT_EQ(parse_program(print_program(program)), program) << handmade.name;
  }
}

TEST(ParseProgram, RoundTripsRandomPrograms) {
  std::set<std::size_t> works, kernels;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Program program = tests::random_program(seed);
    const std::string text = print_program(program);
    try {
      ASSERT_EQ(parse_program(text), program) << text;
    } catch (const TextError& error) {
      FAIL() << "seed " << seed << ", line " << error.line << ": " << error.message << "\n" << text;
    }
    for (const Role& role : program.roles) {
      for (const Block& block : role.blocks) {
        for (const Operation& operation : block.operations) {
          works.insert(operation.work.index());
          const Compute* compute = std::get_if<Compute>(&operation.work);
          if (compute != nullptr) kernels.insert(compute->kernel.index());
        }
      }
    }
  }
  EXPECT_EQ(works.size(), std::variant_size_v<Work>);
  EXPECT_EQ(kernels.size(), std::variant_size_v<hw_models::Kernel>);
}

TEST(PrintProgram, KernelsShowOnlyWhatDiffersFromTheDefault) {
  Program program;
  Operation operation;
  hw_models::Matmul matmul;
  matmul.m = 5;
  matmul.accumulate = true;
  operation.work = Compute{matmul};
  operation.origin.label = "say \"hi\"";
  Block block;
  block.operations = {operation};
  Role role;
  role.blocks = {block};
  program.roles = {role};
  EXPECT_EQ(print_program(program),
            "program \"\"\nstages\nranks\nrole 0 \"\" stage=0\n  block 0 F\n"
            "    0 compute matmul m=5 accumulate=true label=\"say \\\"hi\\\"\"\n");
}

struct Mistake {
  const char* text;
  int line;
  const char* message;
};

TEST(ParseProgram, NamesLineAndMistake) {
  const Mistake mistakes[] = {
      {"", 1, "a program starts with 'program'"},
      {"role 0 \"\"\n", 1, "a program starts with 'program'"},
      {"program\n", 1, "the implementation missing"},
      {"program x\n", 1, "'x' is not a valid value"},
      {"program \"x\" color=3\n", 1, "'color' is not a field of this line"},
      {"program \"x\"\n", 2, "expected 'stages'"},
      {"program \"x\"\nview 1\n", 2, "expected number 0, not '1'"},
      {"program \"x\"\nview 0 \"dp\"=two\n", 2, "'two' is not a valid value"},
      {"program \"x\"\nstages 0\n", 3, "expected 'ranks'"},
      {"program \"x\"\nstages 0 1\n", 2, "'1' is not expected here"},
      {"program \"x\"\nstages\nranks 0x99999999999\n", 3, "more than 16777216 ranks"},
      {"program \"x\"\nstages\nranks 0x1,0x1\n", 3, "expected 'ranks 0x2'"},
      {"program \"x\"\nstages\nranks\nrole 0 \"\" stage=0\n  block 0 Q\n", 5, "'Q' is not a valid value"},
      {"program \"x\"\nstages\nranks\nrole 0 \"\" stage=0\n  block 0 F\n    0 compute dance\n", 6,
       "'dance' is no operation"},
      {"program \"x\"\nstages\nranks\nrole 0 \"\" stage=0\n  block 0 F\n    0 compute matmul m=\n", 6,
       "'' is not a valid value"},
      {"program \"x\"\nstages\nranks\nrole 0 \"\" stage=0\n  block 0 F\n    0 compute matmul m=1\n", 6,
       "expected '    0 compute matmul'"},
      {"program \"x\"\nstages\nranks\nrole 0 \"\" stage=0\n  action 0\n", 5, "expected '  action 0 block=0'"},
      {"program \"x\"\nstages\nranks\nfarewell\n", 4, "'farewell' is not expected here"},
      {"program \"x\"\nstages\nranks\n\n", 4, "'' is not expected here"},
      {"program \"x\"\nstages\nranks", 3, "expected 'ranks'"},
      {"program \"x\" samples=01\nstages\nranks\n", 1, "expected 'program \"x\" samples=1'"},
  };
  for (const Mistake& mistake : mistakes) {
    try {
      parse_program(mistake.text);
      ADD_FAILURE() << "accepted: " << mistake.text;
    } catch (const TextError& error) {
      EXPECT_EQ(error.line, mistake.line) << mistake.text;
      EXPECT_EQ(error.message, mistake.message) << mistake.text;
    }
  }
}

/// Whatever one byte is replaced by: an error, or the text of another program.
TEST(ParseProgram, AcceptsNothingItWouldNotPrint) {
  const std::string text = print_program(tests::gathered_parameters());
  const std::string_view replacements("0 \n\"=,x\\-", 9);
  std::size_t accepted = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char c : replacements) {
      std::string changed = text;
      changed[i] = c;
      try {
        const Program program = parse_program(changed);
        EXPECT_EQ(print_program(program), changed);
        ++accepted;
      } catch (const TextError&) {
      }
    }
  }
  EXPECT_GT(accepted, 0U);
}

}  // namespace
}  // namespace strategies
