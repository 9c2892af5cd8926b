// Ranks as forked processes that report to the test or, under a launcher, as the processes that it has started.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "executor/communicator/communicator.h"
#include "executor/communicator/membership.h"

namespace executor {

/// How one rank ended.
struct Outcome {
  std::string result;              ///< what its body returned
  std::optional<Failure> failure;  ///< CommunicationError
  int peer = -1;
  std::string error;  ///< what() of any exception; "" = none
  bool died = false;  ///< without a report: killed
  bool operator==(const Outcome&) const = default;
};

struct Ranks {
  std::vector<pid_t> pids;
  int abort = -1;  ///< write a byte here
};

struct RunOptions {
  std::chrono::milliseconds deadline = std::chrono::seconds(30);
  std::function<void(const Ranks&)> meanwhile = {};  ///< in the parent, when all ranks have called tell_ready()
};

/// What a rank's body runs with.
struct RankSeat {
  Communicator& communicator;
  int ready;  ///< descriptor to the parent
  void tell_ready() const;
};

/// What a contract is tested on.
struct Way {
  CommunicatorKind kind;
  bool tcp = false;
};

/// All that can be tested here: under a launcher the kinds that connect themselves, otherwise the others.
std::vector<Way> testable_ways(bool with_faults);
std::string name_of(const ::testing::TestParamInfo<Way>& way);

/// Runs `body` on `ranks` processes. Stopped and killed ranks are cleaned up. A kind that connects
/// itself runs on the first `ranks` of the launched processes, and all of those learn the outcomes.
std::vector<Outcome> run_ranks(const Way& way, int ranks, const std::function<std::string(const RankSeat&)>& body,
                               const RunOptions& options = {});

/// A port of the loopback interface that nobody uses.
int free_port();

/// SIGSTOP, and waits until it has stopped.
void stop(pid_t pid);

/// Throws with the message; what a rank uses in place of EXPECT.
void require(bool condition, std::string_view message);

}  // namespace executor
