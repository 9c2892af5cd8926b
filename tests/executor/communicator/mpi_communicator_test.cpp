// What becomes of a whole job under mpirun when one of its ranks fails. That ranks which don't fail get what the
// contract says is tested by communicator_test.cpp under mpirun.
#include "executor/communicator/mpi_communicator.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "executor/supervisor/seat.h"

namespace executor {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

// ---- What the ranks do ------------------------------------------------------------------------------------------

void work(Communicator& c, const std::string& end) {
  for (int step = 0; step < 3; ++step) all_reduce(c, kWorld, c.rank(), Reduction::kSum);
  std::vector<std::byte> data(c.rank() == 0 ? 50 : 60);
  if (c.rank() == 1) {
    if (end == "kill") ::raise(SIGKILL);
    if (end == "throw") throw std::runtime_error("the disk is full");
    if (end == "leave") return;
  }
  if (end == "size") {
    if (c.rank() == 0) c.wait(c.send(1, 3, data));
    if (c.rank() == 1) c.wait(c.receive(0, 3, data));
  }
  if (end == "order") c.wait(c.post({.data = c.rank() == 1 ? bytes_of(data).first(8) : bytes_of(data).first(16)}));
  fmt::print("sum {}\n", all_reduce(c, kWorld, c.rank(), Reduction::kSum));
}

// Not a test: what mpirun starts.
TEST(MpiWorker, DISABLED_Works) {
  const std::string end = std::getenv("TRAINYARD_TEST_END");
  try {
    auto seat = find_seat([](const char* name) { return static_cast<const char*>(std::getenv(name)); });
    if (end == "absent") seat->ranks = 9;
    work(*join_run(*seat, std::chrono::seconds(10), milliseconds(2000)), end);
  } catch (const std::exception& error) {
    fmt::print("{}\n", error.what());
    std::fflush(stdout);
    ::_exit(1);
  }
  std::fflush(stdout);
  ::_exit(0);
}

// ---- What becomes of the job ------------------------------------------------------------------------------------

#ifdef TRAINYARD_MPIRUN

struct JobEnd {
  int exit_code = 0;
  std::string output;
};

JobEnd run_job(const std::string& end) {
  ::setenv("TRAINYARD_TEST_END", end.c_str(), 1);
  std::array<char, 4096> buffer{};
  buffer[static_cast<std::size_t>(::readlink("/proc/self/exe", buffer.data(), buffer.size() - 1))] = '\0';
  const std::string command =
      fmt::format("{} -n 3 '{}' --gtest_filter='MpiWorker.*' --gtest_also_run_disabled_tests --gtest_brief=1 2>&1",
                  TRAINYARD_MPIRUN, buffer.data());
  std::FILE* pipe = ::popen(command.c_str(), "r");
  JobEnd job;
  for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) job.output.append(buffer.data(), n);
  const int status = ::pclose(pipe);
  job.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return job;
}

TEST(MpiCommunicator, SeatsOfMpirunMeetWithoutMaster) {
  const JobEnd job = run_job("well");
  EXPECT_EQ(job.exit_code, 0) << job.output;
  EXPECT_THAT(job.output, HasSubstr("sum 3\n"));
}

TEST(MpiCommunicator, EndOfOneRankEndsTheJob) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"kill", "signal 9"},
      {"throw", "the disk is full"},
      {"leave",
       "all-reduce sum of 8 bytes of float64 (collective 3 of group {0 1 2}): nothing has completed here for "
       "2000 ms; MPI does not tell who is missing"},
      {"size", "rank 1 in receive of 60 bytes from rank 0, tag 3: rank 0 sends 50 bytes, not 60"},
      {"order", "rank 1 posted all-reduce sum of 8 bytes"},
      {"absent", "of 9 for its launcher, but"},
  };
  for (const auto& [end, named] : cases) {
    const JobEnd job = run_job(end);
    EXPECT_NE(job.exit_code, 0) << end;
    EXPECT_THAT(job.output, HasSubstr(named)) << end;
    EXPECT_THAT(job.output, ::testing::Not(HasSubstr("sum 3"))) << end;
  }
}

#endif

}  // namespace
}  // namespace executor
