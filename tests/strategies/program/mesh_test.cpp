#include "strategies/program/mesh.h"

#include <gtest/gtest.h>

namespace strategies {
namespace {

// tp fastest: rank = tp + 2 dp + 6 pp
const Mesh kMesh{{{"tp", 2}, {"dp", 3}, {"pp", 4}}};

std::vector<int> values(const std::vector<Rank>& ranks) {
  std::vector<int> result;
  for (const Rank rank : ranks) result.push_back(rank.value);
  return result;
}

TEST(Mesh, SizeIsTheProductOfExtents) {
  EXPECT_EQ(kMesh.size(), 24);
  EXPECT_EQ(Mesh{}.size(), 1);
}

TEST(Mesh, SizeSaturates) { EXPECT_EQ((Mesh{{{"a", 1 << 30}, {"b", 1 << 30}}}.size()), 2147483647); }

TEST(Mesh, FindsDimensionsByName) {
  EXPECT_EQ(kMesh.find("tp"), 0);
  EXPECT_EQ(kMesh.find("pp"), 2);
  EXPECT_EQ(kMesh.find("ep"), -1);
}

TEST(Mesh, CoordinatesOfEveryRankRebuildIt) {
  for (int rank = 0; rank < kMesh.size(); ++rank) {
    const Rank r{rank};
    EXPECT_EQ(kMesh.coordinate(r, 0) + 2 * kMesh.coordinate(r, 1) + 6 * kMesh.coordinate(r, 2), rank);
  }
}

TEST(Mesh, MovedChangesOneCoordinate) {
  // 17 = 1 + 2*2 + 6*2
  EXPECT_EQ(kMesh.moved(Rank{17}, 1, 0).value, 13);
  EXPECT_EQ(kMesh.moved(Rank{17}, 2, 3).value, 23);
  EXPECT_EQ(kMesh.moved(Rank{17}, 0, 1).value, 17);
}

TEST(Group, WholeDimension) {
  const Group dp{"dp", 0, {{1, {}}}};
  EXPECT_EQ(values(dp.members(kMesh, Rank{9})), (std::vector{7, 9, 11}));
  EXPECT_EQ(dp.size(kMesh), 3);
}

TEST(Group, FirstSpanVariesFastest) {
  const Group tp_dp{"tp-dp", 0, {{0, {}}, {1, {}}}}, dp_tp{"dp-tp", 0, {{1, {}}, {0, {}}}};
  EXPECT_EQ(values(tp_dp.members(kMesh, Rank{8})), (std::vector{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(values(dp_tp.members(kMesh, Rank{8})), (std::vector{6, 8, 10, 7, 9, 11}));
  EXPECT_EQ(tp_dp.size(kMesh), 6);
}

TEST(Group, ListedCoordinatesLeaveOthersOut) {
  const Group ends{"embedding", 0, {{2, {0, 3}}}};
  EXPECT_EQ(values(ends.members(kMesh, Rank{1})), (std::vector{1, 19}));
  EXPECT_EQ(values(ends.members(kMesh, Rank{19})), (std::vector{1, 19}));
  EXPECT_TRUE(ends.members(kMesh, Rank{7}).empty());
  EXPECT_EQ(ends.size(kMesh), 2);
}

TEST(Group, WithoutSpansEveryRankIsAlone) {
  const Group alone{"alone", 0, {}};
  EXPECT_EQ(values(alone.members(kMesh, Rank{5})), (std::vector{5}));
  EXPECT_EQ(alone.size(kMesh), 1);
}

TEST(Group, EveryMemberSeesTheSameGroup) {
  for (const Group& group : {Group{"a", 0, {{1, {}}}}, Group{"b", 0, {{0, {}}, {2, {1, 2}}}}}) {
    for (int rank = 0; rank < kMesh.size(); ++rank) {
      const auto members = group.members(kMesh, Rank{rank});
      for (const Rank member : members) EXPECT_EQ(group.members(kMesh, member), members);
    }
  }
}

}  // namespace
}  // namespace strategies
