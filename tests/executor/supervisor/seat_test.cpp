#include "executor/supervisor/seat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>

namespace executor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Environment of(const std::map<std::string, std::string>& variables) {
  return [&variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

TEST(Seat, EveryLauncherIsKnown) {
  struct Case {
    std::map<std::string, std::string> variables;
    std::string launcher;
  };
  const std::map<std::string, std::string> torchrun{{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}};
  const std::map<std::string, std::string> mpirun{
      {"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}};
  const std::map<std::string, std::string> slurm{{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "1"}};
  std::map<std::string, std::string> mpirun_under_slurm{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}};
  mpirun_under_slurm.insert(mpirun.begin(), mpirun.end());
  for (Case c : {Case{torchrun, "torchrun"}, {mpirun, "mpirun"}, {slurm, "slurm"}, {mpirun_under_slurm, "mpirun"}}) {
    if (c.launcher == "torchrun" || find_communicator_kind("mpi") == nullptr) {
      EXPECT_THAT([&] { find_seat(of(c.variables)); },
                  ::testing::ThrowsMessage<std::runtime_error>(HasSubstr("rank 3 of 4, but MASTER_ADDR is not set")));
    } else {
      EXPECT_EQ(find_seat(of(c.variables))->master, MasterAddress{});
    }
    c.variables["MASTER_ADDR"] = "node7";
    EXPECT_THAT([&] { find_seat(of(c.variables)); },
                ::testing::ThrowsMessage<std::runtime_error>(HasSubstr("rank 3 of 4, but MASTER_PORT is not set")));
    c.variables["MASTER_PORT"] = "2950";
    const auto seat = find_seat(of(c.variables));
    ASSERT_TRUE(seat) << c.launcher;
    EXPECT_EQ(seat->launcher, c.launcher);
    EXPECT_EQ(seat->rank, 3);
    EXPECT_EQ(seat->ranks, 4);
    EXPECT_EQ(seat->local_rank, 1);
    EXPECT_EQ(seat->master, (MasterAddress{"node7", 2950}));
    EXPECT_THAT(seat->sockets, ::testing::IsEmpty());
  }
}

// At MASTER_PORT torchrun's own agent listens then.
TEST(Seat, TheAgentsPortIsLeftAlone) {
  std::map<std::string, std::string> variables{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "node7"}};
  const std::tuple<std::string, std::string, int> cases[] = {
      {"True", "29500", 29501}, {"True", "65535", 65534}, {"False", "29500", 29500}};
  for (const auto& [store, port, expected] : cases) {
    variables["TORCHELASTIC_USE_AGENT_STORE"] = store;
    variables["MASTER_PORT"] = port;
    EXPECT_EQ(find_seat(of(variables))->master, (MasterAddress{"node7", expected})) << store << " " << port;
  }
}

TEST(Seat, NobodyHasLaunchedUs) {
  EXPECT_FALSE(find_seat(of({})));
  EXPECT_FALSE(find_seat(of({{"RANK", "0"}})));
  EXPECT_FALSE(find_seat(of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}})));
}

TEST(Seat, AbsurdValuesAreNamed) {
  const std::map<std::string, std::string> good{
      {"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}};
  ASSERT_TRUE(find_seat(of(good)));
  const std::vector<std::pair<std::string, std::string>> bad = {{"RANK", "2"},
                                                                {"RANK", "-1"},
                                                                {"RANK", "1x"},
                                                                {"RANK", ""},
                                                                {"WORLD_SIZE", "0"},
                                                                {"WORLD_SIZE", "9e"},
                                                                {"MASTER_PORT", "0"},
                                                                {"MASTER_PORT", "70000"},
                                                                {"LOCAL_RANK", "x"},
                                                                {kSeatVariable, "x"},
                                                                {kSeatVariable, "0 2 1 2 3"},
                                                                {kSeatVariable, "2 2 1 2 3,4"}};
  for (const auto& [name, value] : bad) {
    auto variables = good;
    variables[name] = value;
    EXPECT_THAT([&] { find_seat(of(variables)); },
                ::testing::ThrowsMessage<std::runtime_error>(HasSubstr(name + " is '")))
        << name << "=" << value;
  }
}

TEST(Seat, TextRoundTrips) {
  Seat seat;
  seat.rank = 1;
  seat.ranks = 3;
  seat.abort = 7;
  seat.report = 12;
  seat.sockets = {4, -1, 6};
  const std::map<std::string, std::string> variables{
      {kSeatVariable, seat_text(seat)}, {"RANK", "0"}, {"WORLD_SIZE", "8"}};
  const auto found = find_seat(of(variables));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->launcher, "supervisor");
  EXPECT_EQ(found->rank, 1);
  EXPECT_EQ(found->local_rank, 1);
  EXPECT_EQ(found->ranks, 3);
  EXPECT_EQ(found->abort, 7);
  EXPECT_EQ(found->report, 12);
  EXPECT_THAT(found->sockets, ElementsAre(4, -1, 6));
}

}  // namespace
}  // namespace executor
