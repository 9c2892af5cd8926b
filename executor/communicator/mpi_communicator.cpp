#include "executor/communicator/mpi_communicator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "executor/communicator/checked_call.h"
#include "executor/communicator/mpi_collective.h"
#include "executor/communicator/mpi_mailbox.h"

namespace executor {
namespace {

using Clock = std::chrono::steady_clock;

// MPI can't sleep until something comes: a wait first offers its core to others again and again, then naps in between.
constexpr std::chrono::microseconds kPatience{500}, kNap{100};

struct Operation {
  std::unique_ptr<MpiMessage> message;        ///< or
  std::unique_ptr<MpiCollective> collective;  ///< one of them
};

/// True if it had to be: who initialises finalises.
bool initialize() {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized == 0) MPI_Init(nullptr, nullptr);
  return initialized == 0;
}

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(Membership membership) : membership_(std::move(membership)) {
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank != membership_.rank || size < membership_.ranks) {
      throw std::runtime_error(fmt::format(
          "this process is rank {} of {} for its launcher, but {} of {} for MPI: start it with the mpirun of the MPI "
          "that it was built with, or with srun --mpi=pmix, or set MASTER_ADDR and MASTER_PORT to do without MPI",
          membership_.rank, membership_.ranks, rank, size));
    }
    std::vector<int> all(static_cast<std::size_t>(membership_.ranks));
    std::iota(all.begin(), all.end(), 0);
    group(all);
    mailbox_ = std::make_unique<MpiMailbox>(
        groups_.front().data, [this](const MpiMessage& message, std::uint64_t sent) { wrong_size(message, sent); });
  }

  /// Meets the others, unless this rank has failed: then the end of its process is to end the job.
  ~MpiCommunicator() override {
    if (broken_ || std::uncaught_exceptions() > 0) return;
    try {
      while (!sends_.empty()) wait(*sends_.begin());
    } catch (const std::exception&) {
      return;
    }
    mailbox_.reset();
    for (MpiGroup& group : groups_) {
      MPI_Comm_free(&group.checks);
      MPI_Comm_free(&group.data);
    }
    if (owns_mpi_) MPI_Finalize();
  }

  int rank() const override { return membership_.rank; }
  int ranks() const override { return membership_.ranks; }

  GroupHandle group(std::span<const int> members) override {
    std::vector<int> list(members.begin(), members.end());
    if (const auto found = handles_.find(list); found != handles_.end()) return found->second;
    const int position = checked_position(list, rank(), ranks());
    MpiGroup& group = groups_.emplace_back();
    group.members = list;
    group.position = position;
    MPI_Group world, own;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, static_cast<int>(list.size()), list.data(), &own);
    MPI_Comm_create_group(MPI_COMM_WORLD, own, 0, &group.data);
    MPI_Comm_dup(group.data, &group.checks);
    MPI_Group_free(&own);
    MPI_Group_free(&world);
    return handles_[std::move(list)] = {static_cast<std::uint32_t>(groups_.size() - 1)};
  }

  Request post(const CollectiveCall& given) override {
    rethrow_if_broken();
    if (given.group.value >= groups_.size()) throw std::invalid_argument("no such group");
    MpiGroup& group = groups_[given.group.value];
    auto collective = std::make_unique<MpiCollective>(CheckedCall(given, group.members.size()), group);
    return start({nullptr, std::move(collective)});
  }

  Request send(int to, std::uint64_t tag, std::span<const std::byte> data) override {
    rethrow_if_broken();
    check_peer(to);
    auto message = std::make_unique<MpiMessage>(MpiMessage{.peer = to, .header = {tag, data.size()}});
    mailbox_->send(*message, data);
    return *sends_.insert(start({std::move(message), nullptr})).first;
  }

  Request receive(int from, std::uint64_t tag, std::span<std::byte> data) override {
    rethrow_if_broken();
    check_peer(from);
    auto message = std::make_unique<MpiMessage>(MpiMessage{.peer = from, .header = {tag, data.size()}, .target = data});
    MpiMessage& kept = *message;
    const Request request = start({std::move(message), nullptr});
    mailbox_->receive(kept);
    return request;
  }

  void progress() override {
    rethrow_if_broken();
    check_abort();
    while (step()) {
    }
  }

  bool test(Request request) override {
    progress();
    return complete(request);
  }

  void wait(Request request) override { wait_any(std::span(&request, 1)); }

  void wait_any(std::span<const Request> requests) override {
    rethrow_if_broken();
    const auto done = [this](Request request) { return complete(request); };
    if (requests.empty()) return;
    for (auto moved = Clock::now(); std::ranges::none_of(requests, done);) {
      check_abort();
      if (step()) {
        moved = Clock::now();
        continue;
      }
      const auto idle = Clock::now() - moved;
      if (idle >= membership_.deadline) fail_stalled(requests.front());
      if (idle < kPatience) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(kNap);
      }
    }
  }

 private:
  bool complete(Request request) const { return !operations_.contains(request); }
  void rethrow_if_broken() const {
    if (broken_) throw *broken_;
  }
  void check_peer(int peer) const {
    if (peer < 0 || peer >= ranks()) throw std::invalid_argument(fmt::format("no rank {}", peer));
  }

  static std::string describe(const CallShape& shape, const MpiCollective& collective) {
    return fmt::format("{} (collective {} of group {{{}}})", executor::describe(shape), collective.number(),
                       fmt::join(collective.group().members, " "));
  }
  std::string describe(Request request, const Operation& operation) const {
    if (operation.collective) return describe(operation.collective->own_shape(), *operation.collective);
    const MpiMessage& message = *operation.message;
    return fmt::format("{} of {} bytes {} rank {}, tag {}", sends_.contains(request) ? "send" : "receive",
                       message.header.bytes, sends_.contains(request) ? "to" : "from", message.peer,
                       message.header.tag);
  }

  Request start(Operation operation) {
    const Request request{++last_request_};
    operations_.emplace(request, std::move(operation));
    return request;
  }

  /// True if something has been completed or begun.
  bool step() {
    bool moved = mailbox_->progress();
    for (auto entry = operations_.begin(); entry != operations_.end();) {
      const auto& [request, operation] = *entry;
      if (operation.collective && !operation.collective->begun() && operation.collective->may_begin()) {
        check_agreement(request, *operation.collective);
        operation.collective->begin();
        moved = true;
      }
      const bool over =
          operation.collective ? operation.collective->complete() : mailbox_->complete(*operation.message);
      if (over) sends_.erase(request);
      moved |= over;
      entry = over ? operations_.erase(entry) : std::next(entry);
    }
    return moved;
  }

  void check_agreement(Request request, const MpiCollective& collective) {
    for (std::size_t i = 0; i < collective.shapes().size(); ++i) {
      const CallShape& shape = collective.shapes()[i];
      if (shape == collective.own_shape()) continue;
      const int peer = collective.group().members[i];
      fail(Failure::kMismatch, peer, request, fmt::format("rank {} posted {}", peer, describe(shape, collective)));
    }
  }

  void wrong_size(const MpiMessage& message, std::uint64_t sent) {
    const auto sufferer =
        std::ranges::find_if(operations_, [&](const auto& entry) { return entry.second.message.get() == &message; });
    fail(Failure::kMismatch, message.peer, sufferer == operations_.end() ? Request{} : sufferer->first,
         fmt::format("rank {} sends {} bytes, not {}", message.peer, sent, message.header.bytes));
  }

  void check_abort() {
    pollfd polled{membership_.abort, POLLIN, 0};
    if (membership_.abort < 0 || ::poll(&polled, 1, 0) <= 0) return;
    fail(Failure::kAborted, -1, {}, "aborted from outside");
  }

  [[noreturn]] void fail_stalled(Request request) {
    const Operation& operation = operations_.at(request);
    const int peer = operation.message ? operation.message->peer : -1;
    fail(Failure::kStalled, peer, request,
         fmt::format("nothing has completed here for {} ms{}", membership_.deadline.count(),
                     peer < 0 ? "; MPI does not tell who is missing" : ""));
  }

  [[noreturn]] void fail(Failure failure, int peer, Request request, const std::string& message) {
    const auto operation = operations_.find(request);
    const std::string place =
        operation == operations_.end() ? "" : fmt::format(" in {}", describe(request, operation->second));
    broken_.emplace(failure, peer, fmt::format("rank {}{}: {}", rank(), place, message));
    throw *broken_;
  }

  bool owns_mpi_ = initialize();
  Membership membership_;
  std::deque<MpiGroup> groups_;  // collectives under way point to them
  std::map<std::vector<int>, GroupHandle> handles_;
  std::unique_ptr<MpiMailbox> mailbox_;
  std::map<Request, Operation> operations_;  ///< under way
  std::set<Request> sends_;                  ///< of those
  std::uint64_t last_request_ = 0;
  std::optional<CommunicationError> broken_;
};

}  // namespace

std::unique_ptr<Communicator> join_mpi(Membership membership) {
  return std::make_unique<MpiCommunicator>(std::move(membership));
}

}  // namespace executor
