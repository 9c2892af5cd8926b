#include "executor/communicator/local_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "executor/communicator/checked_call.h"

namespace executor {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFarewell{1000};  ///< to hand over what is still to be sent at the end
constexpr int kRemarksPerDeadline = 4;   ///< how often a rank that waits says so

milliseconds since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
}

}  // namespace

LocalCommunicator::LocalCommunicator(Membership membership) : membership_(std::move(membership)) {
  const auto ranks = static_cast<std::size_t>(membership_.ranks);
  if (membership_.sockets.size() != ranks) throw std::invalid_argument("one socket per rank, please");
  peers_.resize(ranks);
  for (int rank = 0; rank < membership_.ranks; ++rank) {
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    peer.inbox =
        std::make_unique<Inbox>([this, rank](const FrameHeader& header) { check_opened(rank, header); },
                                [this, rank](const Channel& channel, std::uint64_t sent, std::uint64_t expected) {
                                  wrong_size(rank, channel, sent, expected);
                                });
    if (rank == membership_.rank) continue;
    peer.connection = std::make_unique<Connection>(membership_.sockets[static_cast<std::size_t>(rank)], *peer.inbox,
                                                   [this, rank](const Remark& remark) { heard(rank, remark); });
  }
  std::vector<int> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  group(all);
}

LocalCommunicator::~LocalCommunicator() {
  if (broken_ || std::uncaught_exceptions() > 0) return;  // a rank that fails may have lost what it was to send
  for (const Peer& peer : peers_) {
    if (peer.connection) peer.connection->say({{.kind = FrameKind::kLeaving}, ""});
  }
  const auto begin = Clock::now();
  for (const Peer& peer : peers_) {
    if (peer.connection) peer.connection->finish(kFarewell - std::min(kFarewell, since(begin)));
  }
}

GroupHandle LocalCommunicator::group(std::span<const int> members) {
  std::vector<int> list(members.begin(), members.end());
  if (const auto found = handles_.find(list); found != handles_.end()) return found->second;
  Group group;
  group.position = checked_position(list, membership_.rank, membership_.ranks);
  group.identity = hash_of(std::as_bytes(std::span(list))) | 1;  // 0 is for messages
  group.members = list;
  const GroupHandle handle{static_cast<std::uint32_t>(groups_.size())};
  groups_.push_back(std::move(group));
  return handles_[std::move(list)] = handle;
}

Request LocalCommunicator::post(const CollectiveCall& given) {
  rethrow_if_broken();
  if (given.group.value >= groups_.size()) throw std::invalid_argument("no such group");
  Group& group = groups_[given.group.value];
  const CheckedCall checked(given, group.members.size());
  const CollectiveCall& call = checked.call();
  Operation operation{{.channel = {group.identity, group.posted++}, .shape = shape_of(call)}, {}};
  check_unexpected(group, operation.header);
  operation.plan = plan_transfers(call, group.members, group.position);
  return start(std::move(operation));
}

Request LocalCommunicator::send(int to, std::uint64_t tag, std::span<const std::byte> data) {
  rethrow_if_broken();
  if (to < 0 || to >= ranks()) throw std::invalid_argument(fmt::format("no rank {}", to));
  Operation operation{{.channel = {0, tag}}, {}};
  // Pieces serve both directions; an outgoing one is only read.
  const Piece piece{const_cast<std::byte*>(data.data()), data.size(), false};
  operation.plan.outgoing.emplace_back(to, std::vector<Piece>{piece});
  if (to == rank()) return send_to_self(operation), Request{};
  return start(std::move(operation));
}

void LocalCommunicator::send_to_self(Operation& operation) {
  Outgoing& outgoing = operation.plan.outgoing.front();
  Inbox& inbox = *peers_[static_cast<std::size_t>(rank())].inbox;
  FrameHeader header = operation.header;
  header.total = outgoing.total();
  do {
    iovec data{};
    outgoing.gather(kFramePayload, std::span(&data, 1));
    header.payload = static_cast<std::uint32_t>(data.iov_len);
    inbox.begin_frame(header);
    inbox.take(std::span(static_cast<const std::byte*>(data.iov_base), data.iov_len));
    outgoing.advance(data.iov_len);
  } while (outgoing.sent() < outgoing.total());
  complete_operations();
}

Request LocalCommunicator::receive(int from, std::uint64_t tag, std::span<std::byte> data) {
  rethrow_if_broken();
  if (from < 0 || from >= ranks()) throw std::invalid_argument(fmt::format("no rank {}", from));
  Operation operation{{.channel = {0, tag}}, {}};
  operation.plan.incoming.emplace_back(from, std::vector<Piece>{{data.data(), data.size(), false}}, Element::kFloat32,
                                       Reduction::kSum);
  return start(std::move(operation));
}

Request LocalCommunicator::start(Operation operation) {
  const Request request{++last_request_};
  Operation& kept = operations_.emplace(request.value, std::move(operation)).first->second;
  for (Incoming& incoming : kept.plan.incoming) {
    peers_[static_cast<std::size_t>(incoming.peer())].inbox->expect(kept.header.channel, &incoming);
  }
  for (Outgoing& outgoing : kept.plan.outgoing) {
    Connection& connection = *peers_[static_cast<std::size_t>(outgoing.peer())].connection;
    connection.post(kept.header, &outgoing, kept.plan.incoming);
    connection.write();
  }
  complete_operations();
  check_left();
  return request;
}

void LocalCommunicator::progress() {
  rethrow_if_broken();
  while (step(0)) {
  }
}

bool LocalCommunicator::test(Request request) {
  progress();
  return complete(request);
}

void LocalCommunicator::wait(Request request) { wait_any(std::span(&request, 1)); }

void LocalCommunicator::wait_any(std::span<const Request> requests) {
  rethrow_if_broken();
  const auto done = [this](Request request) { return complete(request); };
  if (requests.empty() || std::ranges::any_of(requests, done)) return;
  Clock::time_point moved = Clock::now();
  int remarks = 0;
  while (std::ranges::none_of(requests, done)) {
    const milliseconds next = membership_.deadline * (remarks + 1) / kRemarksPerDeadline;
    if (step(static_cast<int>(std::max(next - since(moved), milliseconds(0)).count()) + 1)) {
      moved = Clock::now();
      remarks = 0;
    } else if (since(moved) >= next) {
      if (++remarks == kRemarksPerDeadline) fail_stalled(requests.front());
      say_waiting(operations_.at(requests.front().value));
    }
  }
}

/// True if a byte of data has moved.
bool LocalCommunicator::step(int timeout_ms) {
  polled_.clear();
  for (const Peer& peer : peers_) {
    const bool open = peer.connection && !peer.connection->closed();
    polled_.push_back({open ? peer.connection->socket() : -1, open ? peer.connection->events() : short{0}, 0});
  }
  polled_.push_back({membership_.abort, POLLIN, 0});
  const int ready = ::poll(polled_.data(), polled_.size(), timeout_ms);
  if (ready <= 0) return false;
  if (polled_.back().revents != 0) fail(Failure::kAborted, -1, {}, "aborted from outside");
  std::uint64_t moved = 0;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if ((polled_[i].revents & POLLOUT) != 0) peers_[i].connection->writable();
    if ((polled_[i].revents & ~POLLOUT) != 0) moved += peers_[i].connection->read();
  }
  for (const Peer& peer : peers_) {
    if (peer.connection) moved += peer.connection->write();
  }
  complete_operations();
  check_lost();
  check_left();
  return moved > 0;
}

void LocalCommunicator::complete_operations() {
  for (auto entry = operations_.begin(); entry != operations_.end();) {
    if (!entry->second.plan.complete()) {
      ++entry;
      continue;
    }
    entry->second.plan.finish();
    entry = operations_.erase(entry);
  }
}

}  // namespace executor
