#include "scenarios/load/seats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "scenarios/load/diagnostics.h"

namespace scenarios {
namespace {

using strategies::Seat;

constexpr SeatLimits kFour{.ranks = 4, .hosts = 2, .gpus_per_host = 2, .nics_per_host = 1};

TEST(Seats, AreInOrderOfRanks) {
  EXPECT_EQ(parse_seats("rank,host,device\n0,0,0\n1,0,1\n2,1,0\n3,1,1\n", "seats.csv", kFour),
            (std::vector<Seat>{{0, 0, -1}, {0, 1, -1}, {1, 0, -1}, {1, 1, -1}}));
  EXPECT_EQ(parse_seats("nic,device,rank,host\n,1,3,0\n0,0,2,0\n,1,0,1\r\n0,0,1,1\n", "seats.csv", kFour),
            (std::vector<Seat>{{1, 1, -1}, {1, 0, 0}, {0, 0, 0}, {0, 1, -1}}));
}

TEST(Seats, NamedHostsAreNumberedAsTheyAppear) {
  EXPECT_EQ(parse_seats("rank,host,device\n2,gpu-7,0\n0,gpu-3,0\n1,gpu-3,1\n3,gpu-7,1\n", "seats.csv", kFour),
            (std::vector<Seat>{{1, 0, -1}, {1, 1, -1}, {0, 0, -1}, {0, 1, -1}}));
}

struct BadTable {
  const char *text, *printed;
};

const std::vector<BadTable>& bad_tables() {
  static const std::vector<BadTable> kTables{
      {"", "seats.csv:1:1: error: the file is empty\n  a table begins with a line of column names\n"},
      {"rank,host,gpu\n0,0,0\n", R"(seats.csv:1:1: error: there is no column 'device'
    1 | rank,host,gpu
      | ^ begin with a line rank,host,device or rank,host,device,nic
seats.csv:1:1: error: unknown column 'gpu'
    1 | rank,host,gpu
      | ^ known: rank, host, device, nic
)"},
      {"rank,host,device\n0,0,0\n1,0,1\n3,1,1\n",
       "seats.csv: error: no row for rank 2\n  each of the 4 ranks of the plan needs one\n"},
      {"rank,host,device\n",
       "seats.csv: error: no row for rank 0 and 3 others\n"
       "  each of the 4 ranks of the plan needs one\n"},
      {"rank,host,device,nic\n0,0,0,\n1,0,2,1\n4,2,-1,x\n", R"(seats.csv:3:5: error: there is no device '2'
    3 | 1,0,2,1
      |     ^ use 0 to 1
seats.csv:3:7: error: there is no NIC '1'
    3 | 1,0,2,1
      |       ^ use 0 to 0
seats.csv:4:1: error: there is no rank '4'
    4 | 4,2,-1,x
      | ^ use 0 to 3
seats.csv:4:3: error: there is no host '2'
    4 | 4,2,-1,x
      |   ^ use 0 to 1
seats.csv:4:5: error: there is no device '-1'
    4 | 4,2,-1,x
      |     ^ use 0 to 1
seats.csv:4:8: error: there is no NIC 'x'
    4 | 4,2,-1,x
      |        ^ use 0 to 0
)"},
      {"rank,host,device\n0,0,0\n0,0,1\n", R"(seats.csv:3:1: error: a second row for rank 0
    3 | 0,0,1
      | ^ the first is in line 2
)"},
      {"rank,host,device\n0,a,1\n1,b,1\n2,a,1\n", R"(seats.csv:4:5: error: device 1 of host a hosts rank 0 already
    4 | 2,a,1
      |     ^ see line 2; every rank has a GPU of its own
)"},
      {"rank,host,device\n0,a,0\n1,b,0\n2,c,0\n3,,0\n",
       R"(seats.csv:4:3: error: host 'c' is one more than the 2 nodes of the cluster
    4 | 2,c,0
      |   ^ give the cluster more nodes or use the 2 hosts above
seats.csv:5:3: error: a row without a host
    5 | 3,,0
      |   ^ give the cluster more nodes or use the 2 hosts above
)"},
      {"rank,host,device\n0,0,0\n1,node1,0\n", R"(seats.csv:3:3: error: host 'node1' beside hosts that are numbers
    3 | 1,node1,0
      |   ^ use either throughout
)"},
      {"rank,host,device\n0,node0,0\n1,1,0\n", R"(seats.csv:3:3: error: host '1' beside hosts that are names
    3 | 1,1,0
      |   ^ use either throughout
)"},
      {"rank,host,device\n99999999999999999999,0,0\n",
       R"(seats.csv:2:1: error: there is no rank '99999999999999999999'
    2 | 99999999999999999999,0,0
      | ^ use 0 to 3
)"},
  };
  return kTables;
}

TEST(Seats, DefectsHaveTheirPlaceAndTheWayOut) {
  for (const BadTable& bad : bad_tables()) {
    try {
      parse_seats(bad.text, "seats.csv", kFour);
      ADD_FAILURE() << "was accepted:\n" << bad.text;
    } catch (const InputError& error) {
      EXPECT_STREQ(error.what(), bad.printed);
    }
  }
}

TEST(Seats, NodesWithoutNics) {
  const SeatLimits alone{.ranks = 1, .hosts = 1, .gpus_per_host = 1, .nics_per_host = 0};
  EXPECT_EQ(parse_seats("rank,host,device,nic\n0,0,0,\n", "s", alone), (std::vector<Seat>{{0, 0, -1}}));
  try {
    parse_seats("rank,host,device,nic\n0,0,0,0\n", "s", alone);
    FAIL() << "was accepted";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("the nodes of the cluster have none"), std::string::npos);
  }
}

// One line of a million is enough to see what is wrong with all.
TEST(Seats, FewOfManyDefectsArePrinted) {
  std::string text = "rank,host,device\n";
  for (int row = 0; row < 1000; ++row) text += "x,0,0\n";
  try {
    parse_seats(text, "s", kFour);
    FAIL() << "was accepted";
  } catch (const InputError& error) {
    const std::string printed = error.what();
    EXPECT_LT(std::count(printed.begin(), printed.end(), '\n'), 100);
  }
}

}  // namespace
}  // namespace scenarios
