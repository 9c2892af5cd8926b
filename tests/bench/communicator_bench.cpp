// Arguments: ranks, bytes, pinned to cores or not. Goals on 2 cores, Release, ranks = 2, not pinned:
//   AllReduce 1 KiB    <= 40 us
//   AllReduce 64 MiB   >= 70 % of TwoWayExchange 64 MiB (bytes/s of the buffer), reduction included
//   Progress           <= 3 us with nothing to do
//   Abort              <= 10 ms
#include <benchmark/benchmark.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "executor/communicator/membership.h"
#include "executor/communicator/socket_mesh.h"

namespace {

using executor::Communicator;
using executor::Membership;

/// As the supervisor does where there is a core for every rank. A core that sleeps takes long to wake, above all a
/// virtual one; without pins the kernel runs ranks that wait for each other on one core.
void pin(int rank) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<std::size_t>(rank), &cores);
  ::sched_setaffinity(0, sizeof cores, &cores);
}

/// Other ranks run `body` until they are killed; this process is rank 0.
class Others {
 public:
  Others(int ranks, bool pinned, const std::function<void(const Membership&)>& body) {
    ::sched_getaffinity(0, sizeof cores_, &cores_);
    const auto mesh = executor::socket_mesh(ranks);
    for (int rank = 1; rank < ranks; ++rank) {
      const pid_t pid = ::fork();
      if (pid != 0) {
        pids_.push_back(pid);
        continue;
      }
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (pinned) pin(rank);
      try {
        body({.rank = rank, .ranks = ranks, .sockets = mesh[static_cast<std::size_t>(rank)]});
      } catch (const std::exception&) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    if (pinned) pin(0);
    own_ = {.rank = 0, .ranks = ranks, .sockets = mesh[0]};
  }
  ~Others() {
    ::sched_setaffinity(0, sizeof cores_, &cores_);
    for (const pid_t pid : pids_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  Others(const Others&) = delete;
  Others& operator=(const Others&) = delete;
  const Membership& own() const { return own_; }

 private:
  cpu_set_t cores_;
  std::vector<pid_t> pids_;
  Membership own_;
};

std::unique_ptr<Communicator> join(const Membership& membership) {
  return executor::find_communicator_kind("local")->join(membership);
}

void all_reduce_once(Communicator& communicator, std::vector<float>& values) {
  communicator.wait(communicator.post({.data = executor::bytes_of(values)}));
}

void AllReduce(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(1));
  const Others others(static_cast<int>(state.range(0)), state.range(2) != 0, [bytes](const Membership& membership) {
    const auto communicator = join(membership);
    std::vector<float> values(bytes / sizeof(float));
    while (true) all_reduce_once(*communicator, values);
  });
  const auto communicator = join(others.own());
  std::vector<float> values(bytes / sizeof(float));
  all_reduce_once(*communicator, values);
  for ([[maybe_unused]] const auto _ : state) all_reduce_once(*communicator, values);
  state.SetBytesProcessed(state.iterations() * state.range(1));
}
BENCHMARK(AllReduce)
    ->ArgsProduct({{2},
                   {1 << 10, 8 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20},
                   {0, 1}})
    ->ArgsProduct({{4}, {1 << 10, 8 << 10, 16 << 10, 64 << 10, 1 << 20, 64 << 20}, {0}})
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

/// Both ends send and receive `bytes` at the same time, as fast as plain send and recv can.
void exchange(int socket, std::vector<std::byte>& out, std::vector<std::byte>& in) {
  std::size_t sent = 0, received = 0;
  while (sent < out.size() || received < in.size()) {
    pollfd polled{socket, static_cast<short>((sent < out.size() ? POLLOUT : 0) | POLLIN), 0};
    ::poll(&polled, 1, -1);
    if ((polled.revents & POLLIN) != 0) {
      const ssize_t n = ::recv(socket, in.data() + received, in.size() - received, MSG_DONTWAIT);
      if (n == 0) return;
      received += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
    }
    if ((polled.revents & POLLOUT) != 0) {
      const std::size_t size = std::min<std::size_t>(out.size() - sent, 256 << 10);
      const ssize_t n = ::send(socket, out.data() + sent, size, MSG_DONTWAIT | MSG_NOSIGNAL);
      sent += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
    }
  }
}

void TwoWayExchange(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  std::vector<std::byte> out(bytes), in(bytes);
  const auto widen = [](int socket) {
    const int size = 1 << 20;  // as the communicator asks for
    ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  };
  const Others others(2, state.range(1) != 0, [&](const Membership& membership) {
    widen(membership.sockets[0]);
    while (true) exchange(membership.sockets[0], out, in);
  });
  widen(others.own().sockets[1]);
  exchange(others.own().sockets[1], out, in);
  for ([[maybe_unused]] const auto _ : state) exchange(others.own().sockets[1], out, in);
  state.SetBytesProcessed(state.iterations() * state.range(0));
  ::close(others.own().sockets[1]);
}
BENCHMARK(TwoWayExchange)
    ->ArgsProduct({{1 << 10, 1 << 20, 64 << 20}, {0, 1}})
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

void Progress(benchmark::State& state) {
  const Others others(2, false, [](const Membership&) { ::pause(); });
  const auto communicator = join(others.own());
  for ([[maybe_unused]] const auto _ : state) communicator->progress();
}
BENCHMARK(Progress)->Unit(benchmark::kMicrosecond);

/// From the write to the abort descriptor to the exception in a rank that waits.
void Abort(benchmark::State& state) {
  for ([[maybe_unused]] const auto _ : state) {
    int ends[2];
    if (::pipe(ends) != 0) return state.SkipWithError("pipe");
    const auto mesh = executor::socket_mesh(2);
    std::chrono::steady_clock::time_point aborted;
    std::thread waiter([&] {
      const auto communicator = executor::find_communicator_kind("local")->join(
          {.rank = 0, .ranks = 2, .sockets = mesh[0], .abort = ends[0]});
      std::vector<std::byte> data(8);
      try {
        communicator->wait(communicator->receive(1, 0, data));
      } catch (const executor::CommunicationError&) {
        aborted = std::chrono::steady_clock::now();
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const auto begin = std::chrono::steady_clock::now();
    if (::write(ends[1], "a", 1) != 1) state.SkipWithError("write");
    waiter.join();
    state.SetIterationTime(std::chrono::duration<double>(aborted - begin).count());
    for (const int descriptor : {ends[0], ends[1], mesh[1][0]}) ::close(descriptor);
  }
}
BENCHMARK(Abort)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
