#include "sim/memory_changes.h"

#include <gtest/gtest.h>

#include "tests/sim/step_programs.h"

namespace sim {
namespace {

using hw_models::Bytes;
using strategies::BufferId;
using strategies::Holds;
using strategies::Lane;
using strategies::Lifetime;

TEST(MemoryChanges, ProgramOrderThenTheBlocksOwn) {
  strategies::Role role;
  role.buffers = {{"kept", Bytes(1), Holds::kActivations, Lifetime::kMicrobatch, {}},
                  {"own", Bytes(1), Holds::kWorkspace, Lifetime::kBlock, {}},
                  {"fixed", Bytes(1), Holds::kWeights, Lifetime::kStatic, {}},
                  {"moved", Bytes(1), Holds::kWorkspace, Lifetime::kBlock, {}}};
  strategies::Operation compute = tests::timed(Lane::kCompute, 1);
  compute.allocates = {{0}, {1}, {3}};
  strategies::Operation collective = tests::timed_collective(Lane::kTensor, 1, 0);
  collective.frees = {{3}, {2}};
  const std::vector<MemoryChange> changes = memory_changes(role, {.operations = {compute, collective}});
  const std::vector<std::pair<std::uint32_t, bool>> expected{{0, true},  {1, true},  {3, true},
                                                             {3, false}, {1, false}, {3, false}};
  ASSERT_EQ(changes.size(), expected.size());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    EXPECT_EQ(changes[i].buffer.value, expected[i].first) << i;
    EXPECT_EQ(changes[i].alive, expected[i].second) << i;
    EXPECT_EQ(changes[i].by_collective, i == 3) << i;
  }
}

}  // namespace
}  // namespace sim
