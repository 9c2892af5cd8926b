#include "executor/calibration/helpers.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include "executor/calibration/machine_state.h"
#include "executor/communicator/membership.h"
#include "executor/communicator/socket_mesh.h"

namespace executor {
namespace {

std::unique_ptr<Communicator> join(const std::vector<std::vector<int>>& mesh, std::size_t rank) {
  for (std::size_t other = 0; other < mesh.size(); ++other) {
    if (other == rank) continue;
    for (const int socket : mesh[other]) {
      if (socket >= 0) ::close(socket);
    }
  }
  return communicator_kinds().front().join(
      {.rank = static_cast<int>(rank), .ranks = static_cast<int>(mesh.size()), .sockets = mesh[rank]});
}

[[noreturn]] void run_helper(const std::vector<std::vector<int>>& mesh, std::size_t rank, int core,
                             const std::function<void(Communicator&)>& serve) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int status = 0;
  try {
    pin_to(core);
    const std::unique_ptr<Communicator> communicator = join(mesh, rank);
    serve(*communicator);
  } catch (const std::exception&) {
    status = 1;  // the first process has failed, and says why
  }
  ::_exit(status);
}

}  // namespace

Helpers::Helpers(const std::vector<int>& cores, const std::function<void(Communicator&)>& serve) {
  const auto mesh = socket_mesh(static_cast<int>(cores.size()));
  for (std::size_t rank = 1; rank < cores.size(); ++rank) {
    const pid_t pid = ::fork();
    if (pid == 0) run_helper(mesh, rank, cores[rank], serve);
    if (pid < 0) {
      throw std::runtime_error("cannot start a process for core " + std::to_string(cores[rank]) + ": " +
                               std::strerror(errno));
    }
    helpers_.push_back(pid);
  }
  communicator_ = join(mesh, 0);
  pin_to(cores.front());
}

Helpers::~Helpers() {
  communicator_.reset();
  for (const pid_t pid : helpers_) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

}  // namespace executor
