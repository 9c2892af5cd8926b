#include "tests/executor/communicator/forked_ranks.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "executor/communicator/socket_mesh.h"

namespace executor {
namespace {

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("pipe");
    read = ends[0];
    write = ends[1];
  }
};

std::string read_all(int descriptor) {
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = ::read(descriptor, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

void write_all(int descriptor, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(descriptor, text.data() + done, text.size() - done);
    if (n <= 0) return;
    done += static_cast<std::size_t>(n);
  }
}

/// One line per field; the last field may have more.
std::string encode(const Outcome& outcome) {
  const int failure = outcome.failure ? static_cast<int>(*outcome.failure) : -1;
  return fmt::format("{}\n{}\n{}\n{}", failure, outcome.peer, outcome.result, outcome.error);
}

Outcome decode(const std::string& text) {
  Outcome outcome;
  outcome.died = text.empty();
  if (outcome.died) return outcome;
  const std::size_t first = text.find('\n'), second = text.find('\n', first + 1), third = text.find('\n', second + 1);
  const int failure = std::stoi(text.substr(0, first));
  if (failure >= 0) outcome.failure = static_cast<Failure>(failure);
  outcome.peer = std::stoi(text.substr(first + 1, second - first - 1));
  outcome.result = text.substr(second + 1, third - second - 1);
  outcome.error = text.substr(third + 1);
  return outcome;
}

Outcome run_body(const CommunicatorKind& kind, const Membership& membership, int ready,
                 const std::function<std::string(const RankSeat&)>& body) {
  Outcome outcome;
  try {
    const auto communicator = kind.join(membership);
    outcome.result = body({*communicator, ready});
  } catch (const CommunicationError& error) {
    outcome.failure = error.failure();
    outcome.peer = error.peer();
    outcome.error = error.what();
  } catch (const std::exception& error) {
    outcome.error = error.what();
  }
  return outcome;
}

}  // namespace

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  ::bind(socket, reinterpret_cast<const sockaddr*>(&address), size);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(socket);
  return ntohs(address.sin_port);
}

void RankSeat::tell_ready() const { write_all(ready, "r"); }

void stop(pid_t pid) {
  ::kill(pid, SIGSTOP);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOWAIT);
}

void require(bool condition, std::string_view message) {
  if (!condition) throw std::runtime_error(std::string(message));
}

std::vector<Outcome> run_ranks(const Way& way, int ranks, const std::function<std::string(const RankSeat&)>& body,
                               const RunOptions& options) {
  const auto mesh = socket_mesh(way.tcp ? 0 : ranks);
  const MasterAddress master{"127.0.0.1", way.tcp ? free_port() : 0};
  const Pipe abort, ready;
  std::vector<Pipe> reports(static_cast<std::size_t>(ranks));
  Ranks running{{}, abort.write};
  for (int rank = 0; rank < ranks; ++rank) {
    const auto own = static_cast<std::size_t>(rank);
    const pid_t pid = ::fork();
    if (pid == 0) {
      for (std::size_t other = 0; other < reports.size(); ++other) {
        ::close(reports[other].read);
        if (other == own) continue;
        ::close(reports[other].write);
        if (other >= mesh.size()) continue;
        for (const int socket : mesh[other]) ::close(socket);
      }
      ::close(ready.read);
      const auto sockets = way.tcp ? tcp_mesh(rank, ranks, master, std::chrono::seconds(30)) : mesh[own];
      const Membership membership{rank, ranks, sockets, abort.read, options.deadline};
      write_all(reports[own].write, encode(run_body(way.kind, membership, ready.write, body)));
      ::_exit(0);
    }
    running.pids.push_back(pid);
    ::close(reports[own].write);
  }
  ::close(ready.write);
  for (const auto& sockets : mesh) {
    for (const int socket : sockets) ::close(socket);
  }
  if (options.meanwhile) {
    char byte;
    for (int i = 0; i < ranks && ::read(ready.read, &byte, 1) == 1; ++i) {
    }
    options.meanwhile(running);
  }
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(running.pids[rank]), &info, WSTOPPED | WNOHANG | WNOWAIT);
    const bool stopped = info.si_pid != 0;
    if (!stopped) outcomes[rank] = decode(read_all(reports[rank].read));
    outcomes[rank].died = outcomes[rank].died || stopped;
    ::close(reports[rank].read);
  }
  for (const pid_t pid : running.pids) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  ::close(abort.read);
  ::close(abort.write);
  ::close(ready.read);
  return outcomes;
}

}  // namespace executor
