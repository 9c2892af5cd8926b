// Starts one worker process per rank on this machine and watches them. All workers end when one of them fails or is
// stopped, when the supervisor is interrupted or when it dies itself; nothing of theirs stays behind: sockets and pipes
// are inherited and have no names.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace executor {

struct Launch {
  int ranks = 1;
  /// Program and arguments of every worker; find_seat() tells them apart. "/proc/self/exe" is this program.
  std::vector<std::string> command;
  bool pin = true;  ///< every rank to a core of its own, where there are as many
  /// A rank has completed a step (Reporter::step).
  std::function<void(int rank, std::int64_t step, std::string_view line)> heard = {};
  /// How long the others may take to end by themselves when the run is over; then they are killed.
  std::chrono::milliseconds grace = std::chrono::seconds(3);
};

struct RunEnd {
  int exit_code = 0;       ///< 0: all workers ended with 0; else 1
  std::string reason;      ///< "rank 3 was killed by signal 9 (Killed) in step 18"
  int rank = -1;           ///< whose fault it was; -1: nobody's, or interrupted
  int signal = 0;          ///< what killed or stopped it
  std::int64_t step = -1;  ///< the last step that it completed
  std::vector<int> pids;   ///< of the workers, all of which have ended
};

/// Returns when all workers have ended. SIGINT, SIGTERM and SIGHUP are caught meanwhile and end the run. Throws
/// std::system_error when the workers can't be started.
RunEnd supervise(const Launch& launch);

}  // namespace executor
