#include "strategies/transformer/update.h"

#include <gtest/gtest.h>

#include "tests/programs/small_plans.h"

namespace strategies {
namespace {

struct Gathers {
  int operations = 0;
  std::int64_t allocated = 0, freed = 0;
  bool allocated_first = true, freed_last = false;
};

Gathers gathers_of(const Implementation& implementation) {
  PlanSpec plan;
  plan.data = 4;
  plan.zero = 1;
  const Program program = build_program(tests::small_model(), tests::small_training(), plan, implementation);
  const Role& role = program.roles.front();
  Gathers found;
  for (const Block& block : role.blocks) {
    for (const Operation& operation : block.operations) {
      if (operation.origin.label != "gather-parameters") continue;
      if (found.operations > 0 && !operation.allocates.empty()) found.allocated_first = false;
      for (const BufferId buffer : operation.allocates) found.allocated += role.buffers[buffer.value].size.value();
      for (const BufferId buffer : operation.frees) found.freed += role.buffers[buffer.value].size.value();
      found.freed_last = !operation.frees.empty();
      ++found.operations;
    }
  }
  return found;
}

// 4 replicas: the shard (1/4), the pieces of all (1) and the buffer they are gathered into (1), 2 bytes a weight.
TEST(Update, FlatCopiesOfAParameterGather) {
  Implementation implementation;
  implementation.vocabulary_multiple = 1;
  implementation.bucket_parameters = 100'000;
  const Gathers plain = gathers_of(implementation);
  EXPECT_EQ(plain.allocated, 0);
  EXPECT_GT(plain.operations, 1);
  implementation.flat_parameter_gather = true;
  const Gathers flat = gathers_of(implementation);
  const std::int64_t weights = count_parameters(tests::small_model()).total;
  ASSERT_EQ(weights % 4, 0);
  EXPECT_EQ(flat.allocated, 2 * weights * 9 / 4);
  EXPECT_EQ(flat.freed, flat.allocated);
  EXPECT_TRUE(flat.allocated_first);
  EXPECT_TRUE(flat.freed_last);
  EXPECT_EQ(flat.operations, plain.operations);
}

}  // namespace
}  // namespace strategies
