#include "strategies/collectives/step.h"

#include <gtest/gtest.h>

#include "tests/strategies/collectives/collective_cases.h"

namespace strategies {
namespace {

TEST(Step, TextNamesEverything) {
  const GroupDomains group = GroupDomains::consecutive(4, 2);
  const Slice strided{StepBuffer::kSource, 6, 7, 8, 3, -2};
  EXPECT_EQ(text({StepKind::kSend, 1, 2, 3, 0, strided, {}}, group), "1.2 send source [6,7)/8 x3 -2 to rank 3");
  EXPECT_EQ(text({StepKind::kReduce, 0, 0, 5, 0, {StepBuffer::kStaging, 0, 2, 4, 1, 0}, {}}, group),
            "0.0 reduce staging [0,2)/4 from switch 1");
  EXPECT_EQ(text({StepKind::kCopy, 0, 0, -1, 0, {}, {StepBuffer::kSource, 0, 1, 1, 1, 0}}, group),
            "0.0 copy [0,1)/1 from source [0,1)/1");
  EXPECT_EQ(text({StepKind::kReceive, 0, 0, 6, 1, {}, {}}, group), "0.0 receive [0,1)/1 from network #1");
  EXPECT_EQ(member_name(group, 7), "member 7");
}

TEST(Step, TextOfAGroupSkipsIdleMembers) {
  const GroupDomains group = GroupDomains::consecutive(2, 2);
  const auto steps = all_steps(*find_collective_algorithm("direct"), {ExchangeKind::kSend, 1, 0, 1, 2}, group);
  EXPECT_EQ(text(steps, group),
            "rank 0\n"
            "  0.1 receive [0,1)/2 from rank 1\n"
            "  0.1 receive [1,2)/2 from rank 1\n"
            "rank 1\n"
            "  0.0 send source [0,1)/2 to rank 0\n"
            "  0.0 send source [1,2)/2 to rank 0\n");
}

}  // namespace
}  // namespace strategies
