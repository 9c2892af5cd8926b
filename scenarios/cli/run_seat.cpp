#include "scenarios/cli/run_seat.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "scenarios/load/diagnostics.h"

namespace scenarios {
namespace {

std::optional<executor::Seat> find_seat() {
  try {
    return executor::find_seat([](const char* name) { return std::getenv(name); });
  } catch (const std::runtime_error& problem) {
    throw InputError(fmt::format("error: {}\n", problem.what()));
  }
}

/// One line on standard error that is written over, on a terminal only.
class Progress {
 public:
  Progress(const Scenario& scenario, bool quiet)
      : scenario_(scenario), shown_(!quiet && ::isatty(STDERR_FILENO) == 1) {}
  ~Progress() {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(const executor::StepFigures& figures) const {
    if (shown_) fmt::print(stderr, "\r\033[K{}", progress_line(scenario_, figures));
  }

 private:
  const Scenario& scenario_;
  bool shown_;
};

}  // namespace

int run_seated(const std::string& verb, ScenarioArguments& given, const Part& part) {
  if (given.file == "-") {
    throw InputError(
        fmt::format("error: {} reads the scenario once per rank, which standard input does not allow\n"
                    "  write it to a file\n",
                    verb));
  }
  if (const auto seat = find_seat()) {
    return take_part(*seat, [&](JoinedRank& rank) {
      given.quiet = given.quiet || !rank.answers();
      return part(&rank);
    });
  }
  try {
    return part(nullptr);
  } catch (const RunFailure& failure) {
    fmt::print(stderr, "error: {}\n", failure.what());
    return 1;
  }
}

void refuse_launchers(const std::string& verb) {
  const auto seat = find_seat();
  if (!seat) return;
  throw InputError(
      fmt::format("error: started by {} as rank {} of {}: {} needs one process only\n  run it once, without {}\n",
                  seat->launcher, seat->rank, seat->ranks, verb, seat->launcher));
}

std::optional<Execution> execute_seated(const Scenario& scenario, const std::string& verb,
                                        const std::vector<std::string>& arguments, bool quiet, bool records,
                                        JoinedRank* rank) {
  std::vector<std::string> command{"/proc/self/exe", verb};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const Progress progress(scenario, quiet);
  return execute(scenario, {.command = std::move(command),
                            .rank = rank,
                            .records = records,
                            .on_step = [&](const executor::StepFigures& step) { progress.show(step); }});
}

void check_backend(const std::string& backend) {
  if (backend == "cpu") return;
  throw InputError(fmt::format("error: unknown backend '{}'\n  known: cpu\n", shortened(backend, 100)));
}

}  // namespace scenarios
