// Ranks that a launcher has started train as those of the supervisor do, and only rank 0 speaks unless something fails.
#include "scenarios/cli/run_seat.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <list>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/scenarios/cli/run_binary.h"

namespace scenarios {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Environment = RunningProgram::Environment;

/// Milliseconds a step, for 2 and for 4 ranks.
constexpr const char* kScenario = R"(model: {{base: tiny-cpu, layers: 2, hidden: 32, ffn: 64}}
training: {{sequence_length: 16, global_batch: 8, precision: fp32}}
cluster: {{node: {{base: cpu-box, gpus: {}, gpus_per_pcie_switch: {}}}, nodes: 1}}
plan: {{data: 2, tensor: {}, micro_batch: 2}}
software: trainyard-cpu
execute: {{steps: 5, learning_rate: 0.01}}
)";

/// A TCP port of the loopback interface; while `taken` somebody listens there.
class Port {
 public:
  explicit Port(bool taken) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(socket_, reinterpret_cast<const sockaddr*>(&address), size);
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    number_ = ntohs(address.sin_port);
    if (taken) {
      ::listen(socket_, 1);
    } else {
      ::close(std::exchange(socket_, -1));
    }
  }
  ~Port() {
    if (socket_ >= 0) ::close(socket_);
  }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  int number() const { return number_; }

 private:
  int socket_, number_ = 0;
};

/// The variables by which a launcher tells a process its rank.
struct Launcher {
  std::string name, rank, ranks, local_rank;
  Environment more = {};
};
const std::vector<Launcher>& launchers() {
  static const std::vector<Launcher> all{
      {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
      {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", {{"TORCHELASTIC_USE_AGENT_STORE", "True"}}},
      {"slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
      {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
  };
  return all;
}

/// What a launcher starts as rank `rank`.
using CommandOf = std::function<std::vector<std::string>(int rank)>;

/// The processes that a launcher has started.
class Job {
 public:
  Job(const Launcher& launcher, int ranks, const CommandOf& command) : port_(!launcher.more.empty()) {
    for (int rank = 0; rank < ranks; ++rank) {
      Environment environment = launcher.more;
      environment["MASTER_ADDR"] = "127.0.0.1";
      environment["MASTER_PORT"] = std::to_string(port_.number());
      environment[launcher.rank] = environment[launcher.local_rank] = std::to_string(rank);
      environment[launcher.ranks] = std::to_string(ranks);
      running_.emplace_back(command(rank), environment);
    }
  }
  /// The last one first.
  std::vector<RunResult> wait() {
    std::vector<RunResult> results;
    for (; !running_.empty(); running_.pop_back()) results.push_back(running_.back().wait());
    std::ranges::reverse(results);
    return results;
  }
  RunResult wait_for_last() {
    RunResult result = running_.back().wait();
    running_.pop_back();
    return result;
  }

 private:
  Port port_;  ///< torchrun's agent listens there to the end
  std::list<RunningProgram> running_;
};

std::vector<RunResult> launch(const Launcher& launcher, int ranks, const CommandOf& command) {
  return Job(launcher, ranks, command).wait();
}

/// "step,loss,grad_norm,step_s" without the last column.
std::string without_times(const std::string& csv) {
  std::istringstream lines(csv);
  std::string text;
  for (std::string line; std::getline(lines, line);) text += line.substr(0, line.rfind(',')) + "\n";
  return text;
}

class RunSeat : public testing::Test {
 protected:
  RunSeat() {
    write_text(file(2), fmt::format(kScenario, 2, 2, 1));
    write_text(file(4), fmt::format(kScenario, 4, 4, 2));
  }
  std::string file(int ranks) const { return scratch_.path(fmt::format("of-{}-ranks.yaml", ranks)); }
  static CommandOf same(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), TRAINYARD_BINARY);
    return [arguments](int) { return arguments; };
  }
  static void expect_silence_but_rank_0(const std::vector<RunResult>& results) {
    for (std::size_t rank = 0; rank < results.size(); ++rank) {
      EXPECT_EQ(results[rank].exit_code, 0) << rank;
      EXPECT_EQ(results[rank].error, "") << rank;
      EXPECT_EQ(results[rank].output.empty(), rank > 0) << rank;
    }
  }

  ScratchFolder scratch_;
};

TEST_F(RunSeat, EveryLauncherTrainsToTheSameBits) {
  const std::string csv = scratch_.path("losses.csv"), records = scratch_.path("records.csv");
  for (const int ranks : {2, 4}) {
    const std::vector<std::string> arguments{"execute", file(ranks), "--csv", csv, "--records-out", records};
    const RunResult supervised = run_binary(arguments);
    ASSERT_EQ(supervised.exit_code, 0) << supervised.error;
    const std::string losses = without_times(read_file(csv)), lines = read_file(records);
    for (const Launcher& launcher : launchers()) {
      SCOPED_TRACE(fmt::format("{} ranks under {}", ranks, launcher.name));
      for (const std::string& output : {csv, records}) write_text(output, "");
      const auto results = launch(launcher, ranks, same(arguments));
      expect_silence_but_rank_0(results);
      EXPECT_THAT(results[0].output, HasSubstr("replicas    hold the same weights to the bit\n"));
      EXPECT_EQ(without_times(read_file(csv)), losses);
      EXPECT_EQ(std::ranges::count(read_file(records), '\n'), std::ranges::count(lines, '\n'));
    }
  }
}

TEST_F(RunSeat, MpirunTrainsToTheSameBits) {
#ifdef TRAINYARD_MPIRUN
  const std::string csv = scratch_.path("losses.csv");
  ASSERT_EQ(run_binary({"execute", file(2), "--csv", csv}).exit_code, 0);
  const std::string losses = without_times(read_file(csv));
  write_text(csv, "");
  const auto mpirun = [](const std::string& arguments) {
    return RunningProgram({"sh", "-c", fmt::format("{} -n 2 '{}' {}", TRAINYARD_MPIRUN, TRAINYARD_BINARY, arguments)},
                          {})
        .wait();
  };
  const RunResult launched = mpirun(fmt::format("execute {} --csv {} --json", file(2), csv));
  ASSERT_EQ(launched.exit_code, 0) << launched.error;
  EXPECT_EQ(json::parse(launched.output)["ranks"], 2);  // one answer of one rank
  EXPECT_EQ(without_times(read_file(csv)), losses);
  const RunResult wrong = mpirun("execute " + file(4));
  EXPECT_EQ(wrong.exit_code, 2) << wrong.error;
  EXPECT_THAT(wrong.error, HasSubstr("error: the plan has 4 ranks, mpirun has started 2 processes\n"));
#else
  GTEST_SKIP() << "built without MPI";
#endif
}

TEST_F(RunSeat, ValidatesUnderALauncher) {
  const std::vector<std::string> arguments{"validate", file(2), "--tolerance", "10", "--json"};
  const json supervised = json::parse(run_binary(arguments).output);
  const auto results = launch(launchers().front(), 2, same(arguments));
  expect_silence_but_rank_0(results);
  const json launched = json::parse(results[0].output);
  for (const char* same : {"fingerprint", "loss", "memory", "correctness_only"}) {
    EXPECT_EQ(launched[same], supervised[same]) << same;
  }
  EXPECT_EQ(launched["loss"].size(), 12U);
  EXPECT_GT(launched["core_share"], 0);
}

TEST_F(RunSeat, AWrongNumberOfProcessesIsSaidOnce) {
  const auto results = launch(launchers().front(), 3, same({"execute", file(2)}));
  for (const RunResult& result : results) {
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.output, "");
  }
  EXPECT_EQ(results[0].error,
            "of-2-ranks.yaml: error: the plan has 2 ranks, torchrun has started 3 processes\n"
            "  start 2, or change the plan\n");
  EXPECT_EQ(results[1].error + results[2].error, "");
}

TEST_F(RunSeat, BadInputOfOneRankIsNamedByIt) {
  const auto results = launch(launchers().front(), 2, [&](int rank) {
    return std::vector<std::string>{TRAINYARD_BINARY, "execute", rank == 0 ? file(2) : "nowhere.yaml"};
  });
  for (const RunResult& result : results) EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(results[0].error, "");
  EXPECT_THAT(results[1].error, StartsWith("rank 1: nowhere.yaml: error: there is no such file"));
}

// After a second of processor time, in the midst of training.
TEST_F(RunSeat, AKilledRankEndsTheOthers) {
  Job job(launchers().front(), 4, [&](int rank) {
    const std::string program = fmt::format("exec '{}' execute {} --steps 1000000", TRAINYARD_BINARY, file(4));
    return std::vector<std::string>{"sh", "-c", (rank == 3 ? "ulimit -t 1; " : "") + program};
  });
  EXPECT_EQ(job.wait_for_last().exit_code, -1);
  const auto killed = std::chrono::steady_clock::now();
  const auto others = job.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - killed, std::chrono::seconds(5));
  for (std::size_t rank = 0; rank < others.size(); ++rank) {
    EXPECT_EQ(others[rank].exit_code, 1);
    EXPECT_THAT(others[rank].error, testing::MatchesRegex(fmt::format("error: rank {}[ :].*rank 3.*\n", rank)));
    EXPECT_EQ(others[rank].output, "");
  }
}

TEST_F(RunSeat, BadSeatsAreRefused) {
  const std::string records = scratch_.path("records.csv");
  struct Case {
    Environment environment;
    std::vector<std::string> arguments;
    std::string message;
  };
  const Environment seat{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "1"}};
  const Case cases[] = {
      {{{"RANK", "2"}, {"WORLD_SIZE", "2"}},
       {"execute", file(2)},
       "error: RANK is '2': expected a number from 0 to 1\n"},
      {{{"RANK", "1"}, {"WORLD_SIZE", "2"}},
       {"execute", file(2)},
       "error: torchrun has started this process as rank 1 of 2, but MASTER_ADDR is not set: set it to the host name "
       "of "
       "rank 0\n"},
      {seat, {"execute", "-"}, "error: execute reads the scenario once per rank"},
      {seat,
       {"validate", file(2), "--records", "r.csv"},
       "error: started by torchrun as rank 1 of 2: validate --records needs one process only\n  run it once, without "
       "torchrun\n"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> command{TRAINYARD_BINARY};
    command.insert(command.end(), c.arguments.begin(), c.arguments.end());
    const RunResult result = RunningProgram(command, c.environment).wait();
    EXPECT_EQ(result.exit_code, 2) << result.error;
    EXPECT_THAT(result.error, StartsWith(c.message));
    EXPECT_EQ(result.output, "");
  }
}

}  // namespace
}  // namespace scenarios
