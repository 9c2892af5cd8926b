// The default Communicator: a mesh of stream sockets (AF_UNIX on one machine, TCP between machines), one thread,
// poll(). Operations of several groups share the sockets frame by frame.
//
// Whom a failure is blamed on:
//   * A process that dies closes its sockets to everybody, so that all see it at first hand. Whoever fails says so, and
//     because of whom, before it closes its own.
//   * Who has waited for a quarter of the deadline without a byte moving says for whom, again and again. At the
//   deadline
//     one follows these remarks (I wait for 1, who waits for 2) to the rank that says nothing: it has stopped. Where
//     they lead round in a circle, the members wait for each other: they posted in different orders.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "executor/communicator/communicator.h"
#include "executor/communicator/connection.h"
#include "executor/communicator/inbox.h"
#include "executor/communicator/membership.h"
#include "executor/communicator/transfer_plan.h"

namespace executor {

class LocalCommunicator final : public Communicator {
 public:
  explicit LocalCommunicator(Membership membership);
  ~LocalCommunicator() override;

  int rank() const override { return membership_.rank; }
  int ranks() const override { return membership_.ranks; }
  GroupHandle group(std::span<const int> members) override;
  Request post(const CollectiveCall& given) override;
  Request send(int to, std::uint64_t tag, std::span<const std::byte> data) override;
  Request receive(int from, std::uint64_t tag, std::span<std::byte> data) override;
  void progress() override;
  bool test(Request request) override;
  void wait(Request request) override;
  void wait_any(std::span<const Request> requests) override;

 private:
  using Clock = std::chrono::steady_clock;

  struct Group {
    std::vector<int> members;
    int position = 0;
    std::uint64_t identity = 0;
    std::uint64_t posted = 0;  ///< collectives so far
  };
  struct Operation {
    FrameHeader header;
    TransferPlan plan;
  };
  struct Peer {
    std::unique_ptr<Inbox> inbox;
    std::unique_ptr<Connection> connection;  ///< null: this rank
    bool left = false;
    std::optional<Remark> waiting;  ///< the last thing it said about waiting
    Clock::time_point waiting_since;
  };

  std::string describe(const FrameHeader& header) const;
  std::string describe(const Operation& operation) const;

  Request start(Operation operation);
  void send_to_self(Operation& operation);
  bool step(int timeout_ms);
  void complete_operations();
  void check_lost();
  void check_left();
  void check_opened(int peer, const FrameHeader& header);
  void check_unexpected(const Group& group, const FrameHeader& header);
  void wrong_size(int peer, const Channel& channel, std::uint64_t sent, std::uint64_t expected);
  void heard(int peer, const Remark& remark);

  bool complete(Request request) const { return !operations_.contains(request.value); }
  /// The peer whose stream this operation lacks first.
  int awaited_peer(const Operation& operation) const;
  Request suffering(int peer) const;
  void say_waiting(const Operation& operation);
  [[noreturn]] void fail_stalled(Request request);
  [[noreturn]] void fail(Failure failure, int peer, Request request, const std::string& message);
  void tell_peers(Failure failure, int peer, const std::string& message);
  void rethrow_if_broken() const;

  Membership membership_;
  std::vector<Peer> peers_;
  std::vector<Group> groups_;
  std::map<std::vector<int>, GroupHandle> handles_;
  std::map<std::uint64_t, Operation> operations_;  ///< by request, under way
  std::uint64_t last_request_ = 0;
  std::vector<pollfd> polled_;
  std::optional<Remark> failed_;  ///< a peer's last words
  std::optional<CommunicationError> broken_;
};

}  // namespace executor
