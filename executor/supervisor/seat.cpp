#include "executor/supervisor/seat.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <exception>
#include <stdexcept>
#include <utility>

#include "executor/communicator/communicator.h"

namespace executor {
namespace {

int number(std::string_view text, std::string_view where, int low, int high) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    throw std::runtime_error(fmt::format("{} is '{}': expected a number from {} to {}", where, text, low, high));
  }
  return value;
}

constexpr int kMostRanks = 1 << 20;

/// Variables of a launcher; all that it sets are needed to know it by.
struct Launcher {
  const char* name;
  const char *rank, *ranks, *local_rank;
  bool speaks_mpi;  ///< what it starts can meet without a master
};
// In this order: mpirun under Slurm sets both, and srun sets SLURM_PROCID around a torchrun.
constexpr std::array kLaunchers = {
    Launcher{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", false},
    Launcher{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", true},
    Launcher{"slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", true},
};

MasterAddress find_master(const Environment& environment, const Launcher& launcher) {
  const char *host = environment("MASTER_ADDR"), *port = environment("MASTER_PORT");
  if (host == nullptr && port == nullptr && launcher.speaks_mpi && self_connecting_kind() != nullptr) return {};
  if (host == nullptr || port == nullptr) {
    throw std::runtime_error(fmt::format(
        "{} has started this process as rank {} of {}, but {} is not set: set it to {}", launcher.name,
        environment(launcher.rank), environment(launcher.ranks), host == nullptr ? "MASTER_ADDR" : "MASTER_PORT",
        host == nullptr ? "the host name of rank 0" : "a free port there"));
  }
  constexpr int kHighestPort = 65535;
  const int given = number(port, "MASTER_PORT", 1, kHighestPort);
  // torchrun's agent may listen at that port itself, for PyTorch's processes to meet at its store, and says so.
  const char* store = environment("TORCHELASTIC_USE_AGENT_STORE");
  if (store == nullptr || std::string_view(store) != "True") return {host, given};
  return {host, given < kHighestPort ? given + 1 : given - 1};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Seat parse_seat(std::string_view text) {
  constexpr int kMostDescriptors = 1 << 20;
  const auto parts = split(text, ' ');
  if (parts.size() != 5) throw std::runtime_error(fmt::format("{} is '{}': expected five fields", kSeatVariable, text));
  Seat seat;
  seat.launcher = "supervisor";
  seat.ranks = number(parts[1], kSeatVariable, 1, kMostRanks);
  seat.rank = seat.local_rank = number(parts[0], kSeatVariable, 0, seat.ranks - 1);
  seat.abort = number(parts[2], kSeatVariable, -1, kMostDescriptors);
  seat.report = number(parts[3], kSeatVariable, -1, kMostDescriptors);
  for (const std::string_view socket : split(parts[4], ',')) {
    seat.sockets.push_back(number(socket, kSeatVariable, -1, kMostDescriptors));
  }
  if (seat.sockets.size() != static_cast<std::size_t>(seat.ranks)) {
    throw std::runtime_error(fmt::format("{} is '{}': expected one socket per rank", kSeatVariable, text));
  }
  return seat;
}

}  // namespace

std::string seat_text(const Seat& seat) {
  return fmt::format("{} {} {} {} {}", seat.rank, seat.ranks, seat.abort, seat.report, fmt::join(seat.sockets, ","));
}

std::optional<Seat> find_seat(const Environment& environment) {
  if (const char* text = environment(kSeatVariable)) return parse_seat(text);
  for (const Launcher& launcher : kLaunchers) {
    const char *rank = environment(launcher.rank), *ranks = environment(launcher.ranks);
    if (rank == nullptr || ranks == nullptr) continue;
    Seat seat;
    seat.launcher = launcher.name;
    seat.ranks = number(ranks, launcher.ranks, 1, kMostRanks);
    if (seat.ranks == 1) return std::nullopt;  // a batch script of one task: start our own workers
    seat.rank = number(rank, launcher.rank, 0, seat.ranks - 1);
    if (const char* local = environment(launcher.local_rank))
      seat.local_rank = number(local, launcher.local_rank, 0, seat.ranks);
    seat.master = find_master(environment, launcher);
    return std::optional<Seat>(std::move(seat));
  }
  return std::nullopt;
}

Membership take_seat(const Seat& seat, std::chrono::milliseconds patience, std::chrono::milliseconds deadline) {
  Membership membership{seat.rank, seat.ranks, seat.sockets, seat.abort, deadline};
  if (seat.sockets.empty()) membership.sockets = tcp_mesh(seat.rank, seat.ranks, seat.master, patience);
  for (const int descriptor : {seat.abort, seat.report}) {
    if (descriptor >= 0) ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);  // not for the worker's own children
  }
  return membership;
}

std::unique_ptr<Communicator> join_run(const Seat& seat, std::chrono::milliseconds patience,
                                       std::chrono::milliseconds deadline) {
  const CommunicatorKind* mpi = self_connecting_kind();
  if (mpi != nullptr && seat.sockets.empty() && seat.master.port == 0) {
    return mpi->join({.rank = seat.rank, .ranks = seat.ranks, .abort = seat.abort, .deadline = deadline});
  }
  return communicator_kinds().front().join(take_seat(seat, patience, deadline));
}

void Reporter::step(std::int64_t step, std::string_view line) const { write(fmt::format("{} {}", step, line)); }

void Reporter::failed(const std::exception& error) const {
  // What others have done to this rank is not the cause of the run's end; the supervisor looks for another one.
  const auto* communication = dynamic_cast<const CommunicationError*>(&error);
  const bool suffered = communication != nullptr && communication->failure() != Failure::kMismatch;
  write(suffered ? fmt::format("suffered {} {}", communication->peer(), error.what())
                 : fmt::format("failed {}", error.what()));
}

void Reporter::write(std::string_view line) const {
  if (report_ < 0) return;
  std::string text(line);
  std::ranges::replace(text, '\n', ' ');
  text += '\n';
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t n = ::write(report_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // the supervisor has gone; the abort descriptor tells
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace executor
