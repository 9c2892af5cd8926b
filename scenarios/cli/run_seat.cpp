#include "scenarios/cli/run_seat.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "scenarios/load/diagnostics.h"

namespace scenarios {

std::optional<executor::Seat> find_seat(const std::string& verb) {
  const auto seat = executor::find_seat([](const char* name) { return std::getenv(name); });
  if (!seat || seat->launcher == "supervisor") return seat;
  throw InputError(
      fmt::format("error: started by {} as rank {} of {}: {} starts its ranks itself\n"
                  "  run it once, without {}\n",
                  seat->launcher, seat->rank, seat->ranks, verb, seat->launcher));
}

std::vector<std::string> rank_command(const std::string& verb, const ScenarioArguments& given,
                                      const std::vector<std::string>& arguments) {
  if (given.file == "-") {
    throw InputError(
        fmt::format("error: {} reads the scenario once per rank, which standard input does not allow\n"
                    "  write it to a file\n",
                    verb));
  }
  std::vector<std::string> command{"/proc/self/exe", verb};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

Progress::Progress(const Scenario& scenario, bool shown)
    : scenario_(scenario), shown_(shown && ::isatty(STDERR_FILENO) == 1) {}

void Progress::show(const executor::StepFigures& figures) const {
  if (shown_) fmt::print(stderr, "\r\033[K{}", progress_line(scenario_, figures));
}

void Progress::clear() const {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void check_backend(const std::string& backend) {
  if (backend == "cpu") return;
  throw InputError(fmt::format("error: unknown backend '{}'\n  known: cpu\n", shortened(backend, 100)));
}

}  // namespace scenarios
