#include "executor/supervisor/supervisor.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <thread>

#include "executor/supervisor/seat.h"

namespace executor {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// ---- The worker: this very program with other arguments ---------------------------------------------------------

/// Stops this process; a child of it lets it go on.
void pause_briefly() {
  const pid_t self = ::getpid();
  if (::fork() == 0) {
    std::this_thread::sleep_for(milliseconds(100));
    ::kill(self, SIGCONT);
    ::_exit(0);
  }
  ::raise(SIGSTOP);
  ::wait(nullptr);
}

// All-reduces step by step; ends after step TRAINYARD_TEST_STEPS, in the manner of TRAINYARD_TEST_END.
TEST(Worker, DISABLED_AllReduces) {
  const auto seat = find_seat([](const char* name) -> const char* { return std::getenv(name); });
  ASSERT_TRUE(seat);
  const Reporter reporter(seat->report);
  const int steps = std::atoi(std::getenv("TRAINYARD_TEST_STEPS"));
  const std::string end = std::getenv("TRAINYARD_TEST_END");
  try {
    const auto communicator =
        find_communicator_kind("local")->join(take_seat(*seat, std::chrono::seconds(10), milliseconds(1500)));
    std::vector<float> values(100'000, 1.0f);
    for (int step = 0; step < steps || end == "never"; ++step) {
      communicator->wait(communicator->post({.data = bytes_of(values)}));
      reporter.step(step, fmt::format("{{\"rank\": {}}}", seat->rank));
      if (step == 2 && seat->rank == 1) {
        if (end == "kill") ::raise(SIGKILL);
        if (end == "stop") ::raise(SIGSTOP);
        if (end == "sleep") ::sleep(1000);
        if (end == "pause") pause_briefly();
        if (end == "exit") ::_exit(7);
        if (end == "word") reporter.failed(std::runtime_error("tired")), ::sleep(1000);
        if (end == "throw") throw std::runtime_error("the disk\nis full");
      }
      if (step == 2 && seat->rank == 0 && end == "hang") ::_exit(7);
    }
  } catch (const std::exception& error) {
    reporter.failed(error);
    if (end == "hang") ::sleep(1000);
    ::_exit(1);
  }
  ::_exit(0);
}

// ---- The supervisor ---------------------------------------------------------------------------------------------

struct Heard {
  RunEnd end;
  std::map<int, std::int64_t> last_step;
  std::string line;
};

Heard supervise_worker(int ranks, const std::string& end, milliseconds grace = std::chrono::seconds(3),
                       const std::function<void()>& at_step_5 = {}) {
  ::setenv("TRAINYARD_TEST_STEPS", "10", 1);
  ::setenv("TRAINYARD_TEST_END", end.c_str(), 1);
  Heard heard;
  Launch launch;
  launch.ranks = ranks;
  launch.command = {"/proc/self/exe", "--gtest_filter=Worker.*", "--gtest_also_run_disabled_tests", "--gtest_brief=1"};
  launch.grace = grace;
  launch.heard = [&](int rank, std::int64_t step, std::string_view line) {
    heard.last_step[rank] = step;
    heard.line = line;
    if (step == 5 && rank == 0 && at_step_5) at_step_5();
  };
  heard.end = supervise(launch);
  return heard;
}

void expect_no_worker_left(const RunEnd& end, int ranks) {
  EXPECT_EQ(end.pids.size(), static_cast<std::size_t>(ranks));
  for (const int pid : end.pids) {
    EXPECT_EQ(::kill(pid, 0), -1) << pid;
    EXPECT_EQ(errno, ESRCH);
  }
}

TEST(Supervisor, AllRanksFinish) {
  for (const int ranks : {1, 2, 8}) {
    const Heard heard = supervise_worker(ranks, "well");
    EXPECT_EQ(heard.end.exit_code, 0) << heard.end.reason;
    EXPECT_EQ(heard.end.reason, "");
    EXPECT_EQ(heard.last_step.size(), static_cast<std::size_t>(ranks));
    for (const auto& [rank, step] : heard.last_step) EXPECT_EQ(step, 9) << rank;
    EXPECT_THAT(heard.line, MatchesRegex("\\{\"rank\": [0-9]\\}"));
    expect_no_worker_left(heard.end, ranks);
  }
}

TEST(Supervisor, NamesTheRankThatEndedTheRun) {
  struct Case {
    std::string end, reason;
    int signal;
  };
  const std::vector<Case> cases = {
      {"kill", "rank 1 was killed by signal 9 (Killed) after step 2", SIGKILL},
      {"exit", "rank 1 ended with exit code 7 after step 2", 0},
      {"throw", "rank 1 ended with exit code 1 after step 2: the disk is full", 0},
      {"stop", "rank 1 was stopped by signal 19 (Stopped (signal)) after step 2", SIGSTOP},
      {"sleep",
       "rank 1 failed the others after step 2: rank .* in all-reduce .*rank 1, which has shown no sign of life.*", 0},
  };
  for (const Case& c : cases) {
    const RunEnd end = supervise_worker(4, c.end, milliseconds(500)).end;
    EXPECT_EQ(end.exit_code, 1);
    EXPECT_EQ(end.rank, 1) << end.reason;
    EXPECT_EQ(end.step, 2);
    EXPECT_EQ(end.signal, c.signal);
    EXPECT_TRUE(::testing::Matches(::testing::ContainsRegex("^" + c.reason))(end.reason) || end.reason == c.reason)
        << end.reason;
    expect_no_worker_left(end, 4);
  }
}

// As Ctrl-Z and fg do.
TEST(Supervisor, ABriefStopHurtsNobody) {
  const RunEnd end = supervise_worker(2, "pause").end;
  EXPECT_EQ(end.exit_code, 0) << end.reason;
}

// The others learn of it, but don't end: they are killed after the grace.
TEST(Supervisor, KillsWhoDoesNotEnd) {
  const RunEnd end = supervise_worker(3, "hang", milliseconds(300)).end;
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_EQ(end.reason, "rank 0 ended with exit code 7 after step 2");
  expect_no_worker_left(end, 3);
}

TEST(Supervisor, InterruptEndsTheRun) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const RunEnd end =
        supervise_worker(3, "never", std::chrono::seconds(3), [signal] { ::kill(::getpid(), signal); }).end;
    EXPECT_EQ(end.exit_code, 1);
    EXPECT_EQ(end.signal, signal);
    EXPECT_THAT(end.reason, MatchesRegex("interrupted by signal [0-9]+ \\([A-Z][a-z]+\\) after step [0-9]+"));
    expect_no_worker_left(end, 3);
  }
}

// Workers of a supervisor that is killed are our children then; wait until there are none.
TEST(Supervisor, WorkersDieWithIt) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t supervisor = ::fork();
  if (supervisor == 0) {
    supervise_worker(3, "never", std::chrono::seconds(3), [&] { (void)!::write(ready[1], "r", 1); });
    ::_exit(0);
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::kill(supervisor, SIGKILL);
  int ended = 0;
  for (int i = 0; i < 1000 && ended < 4; ++i) {
    if (::waitpid(-1, nullptr, WNOHANG) > 0) {
      ++ended;
    } else {
      std::this_thread::sleep_for(milliseconds(10));
    }
  }
  EXPECT_EQ(ended, 4);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST(Supervisor, ProgramThatDoesNotStart) {
  Launch launch;
  launch.ranks = 2;
  launch.command = {"/no/such/program"};
  const RunEnd end = supervise(launch);
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_THAT(end.reason, MatchesRegex("rank [01] ended with exit code 127 before the end of its first step: "
                                       "the program can't be executed"));
}

}  // namespace
}  // namespace executor
