#include "executor/supervisor/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "executor/communicator/socket_mesh.h"
#include "executor/supervisor/seat.h"

namespace executor {
namespace {

using Clock = std::chrono::steady_clock;

/// How long a worker may be stopped: Ctrl-Z and fg stop and continue it together with the supervisor.
constexpr std::chrono::milliseconds kLongestStop{1000};

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

class Descriptor {
 public:
  explicit Descriptor(int value = -1) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Descriptor() { close(); }
  void close() {
    if (value_ >= 0) ::close(std::exchange(value_, -1));
  }
  int get() const { return value_; }

 private:
  int value_;
};

struct Pipe {
  Descriptor read, write;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail("pipe");
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
  }
};

/// While it lives, these signals arrive at a descriptor.
class Signals {
 public:
  Signals() {
    sigset_t caught;
    sigemptyset(&caught);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&caught, signal);
    struct sigaction told {};
    told.sa_handler = SIG_DFL;  // of children that end or are stopped, whatever our parent has asked for
    ::sigaction(SIGCHLD, &told, &children_before_);
    ::pthread_sigmask(SIG_BLOCK, &caught, &before_);
    descriptor_ = Descriptor(::signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK));
    if (descriptor_.get() < 0) fail("signalfd");
  }
  ~Signals() {
    ::sigaction(SIGCHLD, &children_before_, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  int descriptor() const { return descriptor_.get(); }
  const sigset_t& before() const { return before_; }
  /// 0 if none has arrived.
  int next() const {
    signalfd_siginfo info{};
    return ::read(descriptor_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  sigset_t before_{};
  struct sigaction children_before_ {};
  Descriptor descriptor_;
};

struct Worker {
  pid_t pid = -1;
  Descriptor process, report;
  std::string line;  ///< incomplete
  std::int64_t step = -1;
  std::string failed, suffered;  ///< its last word
  int blames = -1;               ///< the rank that it has suffered from
  int failed_as = -1;            ///< 0: the first one that failed, 1: the second ...
  std::optional<Clock::time_point> stopped_since;
  int stopped_by = 0;  ///< the signal, when it was stopped for too long
  bool ended = false;
  int status = 0;
  int signal() const { return WIFSIGNALED(status) ? WTERMSIG(status) : stopped_by; }
  bool bad() const { return ended && (status != 0 || failed_as >= 0); }
};

/// What the child does between fork and exec: system calls only, everything was prepared before.
struct ChildPlan {
  std::vector<int> inherited;
  std::vector<char*> arguments, environment;
  const sigset_t* signals = nullptr;
  const cpu_set_t* cores = nullptr;  ///< null: not pinned
  pid_t parent = 0;
  int report = -1;
};

[[noreturn]] void become_worker(const ChildPlan& plan) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(1);  // it died before the line above
  ::signal(SIGINT, SIG_IGN);                   // Ctrl-C reaches the whole process group; the supervisor decides
  ::pthread_sigmask(SIG_SETMASK, plan.signals, nullptr);
  for (const int descriptor : plan.inherited) ::fcntl(descriptor, F_SETFD, 0);
  if (plan.cores != nullptr) ::sched_setaffinity(0, sizeof *plan.cores, plan.cores);
  ::execve(plan.arguments[0], plan.arguments.data(), plan.environment.data());
  constexpr std::string_view kLastWord = "failed the program can't be executed\n";
  [[maybe_unused]] const ssize_t n = ::write(plan.report, kLastWord.data(), kLastWord.size());
  ::_exit(127);
}

/// One set per rank; none if there are fewer cores than ranks.
std::vector<cpu_set_t> cores_of_ranks(int ranks) {
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0 || CPU_COUNT(&usable) < ranks) return {};
  std::vector<cpu_set_t> sets;
  for (std::size_t core = 0; core < CPU_SETSIZE && sets.size() < static_cast<std::size_t>(ranks); ++core) {
    if (!CPU_ISSET(core, &usable)) continue;
    CPU_ZERO(&sets.emplace_back());
    CPU_SET(core, &sets.back());
  }
  return sets;
}

class Run {
 public:
  explicit Run(const Launch& launch) : launch_(launch), workers_(static_cast<std::size_t>(launch.ranks)) {}

  ~Run() {
    for (Worker& worker : workers_) {
      if (worker.pid > 0 && !worker.ended) kill_and_reap(worker);
    }
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  RunEnd run() {
    start();
    while (std::ranges::any_of(workers_, [](const Worker& worker) { return !worker.ended; })) watch();
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) hear(rank);
    return end();
  }

 private:
  void start() {
    auto mesh = socket_mesh(launch_.ranks);
    std::vector<Descriptor> owned;
    for (const auto& sockets : mesh) {
      for (const int socket : sockets) owned.emplace_back(socket);
    }
    const std::vector<cpu_set_t> cores = launch_.pin ? cores_of_ranks(launch_.ranks) : std::vector<cpu_set_t>{};
    for (int rank = 0; rank < launch_.ranks; ++rank) {
      const auto index = static_cast<std::size_t>(rank);
      start_worker(rank, mesh[index], cores.empty() ? nullptr : &cores[index]);
    }
    abort_.read.close();
  }

  void start_worker(int rank, const std::vector<int>& sockets, const cpu_set_t* cores) {
    Worker& worker = workers_[static_cast<std::size_t>(rank)];
    Pipe report;
    Seat seat;
    seat.rank = rank;
    seat.ranks = launch_.ranks;
    seat.sockets = sockets;
    seat.abort = abort_.read.get();
    seat.report = report.write.get();
    ChildPlan plan;
    plan.inherited = sockets;
    plan.signals = &signals_.before();
    plan.cores = cores;
    plan.parent = ::getpid();
    plan.report = seat.report;
    plan.inherited.push_back(seat.abort);
    plan.inherited.push_back(seat.report);
    std::string variable = fmt::format("{}={}", kSeatVariable, seat_text(seat));
    std::vector<std::string> arguments = launch_.command;
    for (std::string& argument : arguments) plan.arguments.push_back(argument.data());
    plan.arguments.push_back(nullptr);
    for (char** entry = environ; *entry != nullptr; ++entry) plan.environment.push_back(*entry);
    plan.environment.push_back(variable.data());
    plan.environment.push_back(nullptr);
    const pid_t pid = ::fork();
    if (pid < 0) fail("fork");
    if (pid == 0) become_worker(plan);
    worker.pid = pid;
    worker.report = std::move(report.read);
    ::fcntl(worker.report.get(), F_SETFL, O_NONBLOCK);
    worker.process = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (worker.process.get() < 0) fail("pidfd_open");
  }

  void watch() {
    std::vector<pollfd> polled{{signals_.descriptor(), POLLIN, 0}};
    for (const Worker& worker : workers_) {
      polled.push_back({worker.ended ? -1 : worker.process.get(), POLLIN, 0});
      polled.push_back({worker.report.get(), POLLIN, 0});
    }
    ::poll(polled.data(), polled.size(), timeout());
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
      if (polled[2 * rank + 2].revents != 0) hear(rank);
      if (polled[2 * rank + 1].revents != 0) reap(workers_[rank]);
    }
    while (const int signal = signals_.next()) take_signal(signal);
    for (Worker& worker : workers_) watch_stopped(worker);
    if (over_ && Clock::now() >= *over_) {
      for (Worker& worker : workers_) {
        if (!worker.ended) kill_and_reap(worker);
      }
    }
  }

  int timeout() const {
    std::optional<Clock::time_point> next = over_;
    for (const Worker& worker : workers_) {
      if (worker.ended || !worker.stopped_since) continue;
      const Clock::time_point end = *worker.stopped_since + kLongestStop;
      next = next ? std::min(*next, end) : end;
    }
    if (!next) return -1;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*next - Clock::now()).count();
    return static_cast<int>(std::max<std::int64_t>(left, 0)) + 1;
  }

  void take_signal(int signal) {
    if (signal == SIGCHLD) {
      for (Worker& worker : workers_) {
        if (!worker.ended && !worker.stopped_since && stop_signal(worker) != 0) worker.stopped_since = Clock::now();
      }
      return;
    }
    if (interrupted_ == 0) interrupted_ = signal;
    stop();
  }

  /// What has stopped it, if it is stopped now; else 0.
  static int stop_signal(const Worker& worker) {
    siginfo_t info{};
    const auto id = static_cast<id_t>(worker.pid);
    return ::waitid(P_PID, id, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 ? info.si_status : 0;
  }

  /// Who is stopped can't end by itself.
  void watch_stopped(Worker& worker) {
    if (worker.ended || !worker.stopped_since || Clock::now() < *worker.stopped_since + kLongestStop) return;
    worker.stopped_since.reset();
    worker.stopped_by = stop_signal(worker);
    if (worker.stopped_by == 0) return;
    kill_and_reap(worker);
    has_failed(worker);
  }

  void reap(Worker& worker) {
    if (::waitpid(worker.pid, &worker.status, WNOHANG) != worker.pid) return;
    worker.ended = true;
    if (worker.bad()) has_failed(worker);
  }

  /// For those that don't end by themselves: their status says nothing about the cause.
  void kill_and_reap(Worker& worker) {
    ::kill(worker.pid, SIGKILL);
    ::waitpid(worker.pid, nullptr, 0);
    worker.ended = true;
  }

  void has_failed(Worker& worker) {
    if (worker.failed_as < 0) worker.failed_as = failures_++;
    stop();
  }

  /// Tells all workers to end: their communicators see a readable descriptor.
  void stop() {
    if (over_) return;
    over_ = Clock::now() + launch_.grace;
    abort_.write.close();
  }

  void hear(std::size_t rank) {
    Worker& worker = workers_[rank];
    char buffer[4096];
    ssize_t n = -1;
    while (worker.report.get() >= 0 && (n = ::read(worker.report.get(), buffer, sizeof buffer)) > 0) {
      worker.line.append(buffer, static_cast<std::size_t>(n));
    }
    for (std::size_t end; (end = worker.line.find('\n')) != std::string::npos; worker.line.erase(0, end + 1)) {
      take_line(rank, std::string_view(worker.line).substr(0, end));
    }
    if (n == 0) worker.report.close();
  }

  void take_line(std::size_t rank, std::string_view line) {
    Worker& worker = workers_[rank];
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, space), rest = line.substr(std::min(space + 1, line.size()));
    if (word == "failed") {
      worker.failed = rest;
      has_failed(worker);
    } else if (word == "suffered") {
      const char* end = std::from_chars(rest.data(), rest.data() + rest.size(), worker.blames).ptr;
      worker.suffered = std::string(std::min(end + 1, rest.data() + rest.size()), rest.data() + rest.size());
      has_failed(worker);
    } else if (std::from_chars(word.data(), word.data() + word.size(), worker.step).ec == std::errc() &&
               launch_.heard) {
      launch_.heard(static_cast<int>(rank), worker.step, rest);
    }
  }

  RunEnd end() const {
    RunEnd end;
    for (const Worker& worker : workers_) end.pids.push_back(worker.pid);
    if (interrupted_ != 0) {
      const auto last = std::ranges::max_element(workers_, {}, &Worker::step);
      end.exit_code = 1;
      end.step = last->step;
      end.signal = interrupted_;
      end.reason =
          fmt::format("interrupted by signal {} ({}) {}", interrupted_, ::strsignal(interrupted_), when(*last));
    } else if (const Worker* cause = find_cause()) {
      const bool blames = cause->signal() == 0 && cause->blames >= 0 && cause->blames < launch_.ranks;
      const auto index =
          blames ? static_cast<std::size_t>(cause->blames) : static_cast<std::size_t>(cause - workers_.data());
      end.exit_code = 1;
      end.rank = static_cast<int>(index);
      end.step = workers_[index].step;
      end.signal = cause->signal();
      end.reason = fmt::format("rank {} {} {}{}", end.rank, blames ? "failed the others" : ending(*cause),
                               when(workers_[index]), last_word(*cause));
    }
    return end;
  }

  /// The first worker that a signal has killed (not ours) or stopped, or failed by itself, or has suffered from
  /// another.
  const Worker* find_cause() const {
    const auto weight = [](const Worker& worker) { return worker.signal() != 0 ? 0 : worker.suffered.empty() ? 1 : 2; };
    const Worker* cause = nullptr;
    for (const Worker& worker : workers_) {
      if (!worker.bad()) continue;
      const auto key = [&weight](const Worker& one) { return std::pair(weight(one), one.failed_as); };
      if (cause == nullptr || key(worker) < key(*cause)) cause = &worker;
    }
    return cause;
  }

  static std::string ending(const Worker& worker) {
    if (const int signal = worker.signal(); signal != 0) {
      const char* how = WIFSIGNALED(worker.status) ? "killed" : "stopped";
      return fmt::format("was {} by signal {} ({})", how, signal, ::strsignal(signal));
    }
    if (worker.status == 0) return "failed and had to be ended";
    return fmt::format("ended with exit code {}", WEXITSTATUS(worker.status));
  }
  static std::string when(const Worker& worker) {
    return worker.step < 0 ? "before the end of its first step" : fmt::format("after step {}", worker.step);
  }
  static std::string last_word(const Worker& worker) {
    const std::string& word = worker.failed.empty() ? worker.suffered : worker.failed;
    return word.empty() ? "" : ": " + word;
  }

  const Launch& launch_;
  Signals signals_;
  Pipe abort_;
  std::vector<Worker> workers_;
  int interrupted_ = 0, failures_ = 0;
  std::optional<Clock::time_point> over_;  ///< set: the workers have been told to end, and have until then
};

}  // namespace

RunEnd supervise(const Launch& launch) { return Run(launch).run(); }

}  // namespace executor
