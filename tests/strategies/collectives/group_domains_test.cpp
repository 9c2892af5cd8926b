#include "strategies/collectives/group_domains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace strategies {
namespace {

using ::testing::ElementsAre;

TEST(GroupDomains, NumbersDomainsByTheirFirstRankAndLocalsByRank) {
  const GroupDomains group({7, 3, 7, 7, 3});
  EXPECT_EQ(group.ranks(), 5);
  EXPECT_EQ(group.domains(), 2);
  EXPECT_THAT(group.ranks_of(0), ElementsAre(0, 2, 3));
  EXPECT_THAT(group.ranks_of(1), ElementsAre(1, 4));
  EXPECT_EQ(group.domain(4), 1);
  EXPECT_EQ(group.local(4), 1);
  EXPECT_EQ(group.rank(0, 2), 3);
  EXPECT_FALSE(group.equal_domains());
}

TEST(GroupDomains, ConsecutiveRanksFillDomains) {
  const GroupDomains group = GroupDomains::consecutive(7, 3);
  EXPECT_EQ(group.domains(), 3);
  EXPECT_THAT(group.ranks_of(2), ElementsAre(6));
  EXPECT_TRUE(GroupDomains::consecutive(6, 3).equal_domains());
}

TEST(GroupDomains, SwitchesAndNetworkAreMembersBehindTheRanks) {
  const GroupDomains group = GroupDomains::consecutive(4, 2);
  EXPECT_EQ(group.members(), 7);
  EXPECT_EQ(group.switch_of(1), 5);
  EXPECT_EQ(group.network(), 6);
  EXPECT_TRUE(group.is_switch(5));
  EXPECT_FALSE(group.is_switch(6));
  EXPECT_FALSE(group.is_rank(4));
  EXPECT_FALSE(group.far(1, 4)) << "a rank and its switch";
  EXPECT_TRUE(group.far(1, 5)) << "a rank and the other switch";
  EXPECT_TRUE(group.far(1, 2));
  EXPECT_TRUE(group.far(0, 6)) << "a rank and the network";
}

TEST(GroupDomains, RefusesEmptyGroups) {
  EXPECT_THROW(GroupDomains({}), std::invalid_argument);
  EXPECT_THROW(GroupDomains::consecutive(0, 1), std::invalid_argument);
  EXPECT_THROW(GroupDomains::consecutive(1, 0), std::invalid_argument);
}

}  // namespace
}  // namespace strategies
