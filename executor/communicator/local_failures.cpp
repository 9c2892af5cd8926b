// What goes wrong in a LocalCommunicator, and whom it is blamed on.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "executor/communicator/local_communicator.h"

namespace executor {
namespace {

constexpr std::chrono::milliseconds kLastWords{100};  ///< to tell the peers about a failure

}  // namespace

std::string LocalCommunicator::describe(const FrameHeader& header) const {
  if (header.channel.group == 0) return fmt::format("message of {} bytes, tag {}", header.total, header.channel.number);
  const auto group = std::ranges::find(groups_, header.channel.group, &Group::identity);
  const std::string members =
      group == groups_.end() ? "unknown here" : fmt::format("{{{}}}", fmt::join(group->members, " "));
  return fmt::format("{} (collective {} of group {})", executor::describe(header.shape), header.channel.number,
                     members);
}

std::string LocalCommunicator::describe(const Operation& operation) const {
  if (operation.header.channel.group != 0) return describe(operation.header);
  const std::uint64_t tag = operation.header.channel.number;
  if (operation.plan.incoming.empty()) {
    const Outgoing& outgoing = operation.plan.outgoing.front();
    return fmt::format("send of {} bytes to rank {}, tag {}", outgoing.total(), outgoing.peer(), tag);
  }
  const Incoming& incoming = operation.plan.incoming.front();
  return fmt::format("receive of {} bytes from rank {}, tag {}", incoming.total(), incoming.peer(), tag);
}

int LocalCommunicator::awaited_peer(const Operation& operation) const {
  for (const Incoming& incoming : operation.plan.incoming) {
    if (!incoming.complete()) return incoming.peer();
  }
  for (const Outgoing& outgoing : operation.plan.outgoing) {
    if (!outgoing.complete()) return outgoing.peer();
  }
  return -1;
}

/// The last operation that can't complete without `peer`, else the last one, else none: what this rank waits in, if it
/// waits; messages that it expects some time are older.
Request LocalCommunicator::suffering(int peer) const {
  const auto needs = [peer](const auto& stream) { return stream.peer() == peer && !stream.complete(); };
  for (auto entry = operations_.rbegin(); entry != operations_.rend(); ++entry) {
    const TransferPlan& plan = entry->second.plan;
    if (std::ranges::any_of(plan.incoming, needs) || std::ranges::any_of(plan.outgoing, needs)) return {entry->first};
  }
  return operations_.empty() ? Request{} : Request{operations_.rbegin()->first};
}

void LocalCommunicator::check_opened(int peer, const FrameHeader& header) {
  if (header.channel.group == 0) return;
  for (const auto& [request, operation] : operations_) {
    if (operation.header.channel != header.channel) continue;
    if (operation.header.shape == header.shape) return;
    fail(Failure::kMismatch, peer, {request}, fmt::format("rank {} posted {}", peer, describe(header)));
  }
  const auto group = std::ranges::find(groups_, header.channel.group, &Group::identity);
  if (group != groups_.end() && header.channel.number < group->posted) {
    fail(Failure::kMismatch, peer, suffering(peer),
         fmt::format("rank {} posted {}, which is over here", peer, describe(header)));
  }
}

void LocalCommunicator::check_unexpected(const Group& group, const FrameHeader& header) {
  for (const int peer : group.members) {
    const FrameHeader* other = peers_[static_cast<std::size_t>(peer)].inbox->unexpected(header.channel);
    if (other == nullptr || other->shape == header.shape) continue;
    fail(Failure::kMismatch, peer, {},
         fmt::format("posts {}, rank {} posted {}", describe(header), peer, describe(*other)));
  }
}

void LocalCommunicator::wrong_size(int peer, const Channel& channel, std::uint64_t sent, std::uint64_t expected) {
  Request request;
  for (const auto& [number, operation] : operations_) {
    const bool from_peer =
        std::ranges::find(operation.plan.incoming, peer, &Incoming::peer) != operation.plan.incoming.end();
    if (operation.header.channel == channel && from_peer) request = {number};
  }
  fail(Failure::kMismatch, peer, request, fmt::format("rank {} sends {} bytes, not {}", peer, sent, expected));
}

void LocalCommunicator::heard(int peer, const Remark& remark) {
  Peer& speaker = peers_[static_cast<std::size_t>(peer)];
  switch (remark.header.kind) {
    case FrameKind::kWaiting:
      speaker.waiting = remark;
      speaker.waiting_since = Clock::now();
      break;
    case FrameKind::kFailed:
      if (!failed_) failed_ = remark;
      break;
    case FrameKind::kLeaving:
      speaker.left = true;
      break;
    case FrameKind::kData:
      break;
  }
}

void LocalCommunicator::check_lost() {
  if (failed_) {
    const int culprit = static_cast<int>(failed_->header.total);
    fail(static_cast<Failure>(failed_->header.channel.number), culprit, suffering(culprit), failed_->text);
  }
  for (int rank = 0; rank < ranks(); ++rank) {
    const Peer& peer = peers_[static_cast<std::size_t>(rank)];
    if (!peer.connection || !peer.connection->closed() || peer.left) continue;
    fail(Failure::kPeerLost, rank, suffering(rank), fmt::format("lost rank {}: its process has ended", rank));
  }
}

void LocalCommunicator::check_left() {
  for (const auto& [request, operation] : operations_) {
    const int peer = awaited_peer(operation);
    if (peer < 0 || !peers_[static_cast<std::size_t>(peer)].left) continue;
    fail(Failure::kPeerLeft, peer, {request}, fmt::format("rank {} has left", peer));
  }
}

void LocalCommunicator::say_waiting(const Operation& operation) {
  const int peer = awaited_peer(operation);
  for (const Peer& other : peers_) {
    if (!other.connection) continue;
    other.connection->say(
        {{.kind = FrameKind::kWaiting, .total = static_cast<std::uint64_t>(peer)}, describe(operation)});
    other.connection->write();
  }
}

void LocalCommunicator::fail_stalled(Request request) {
  std::vector<int> path{rank()};
  std::string story;
  int peer = awaited_peer(operations_.at(request.value));
  while (std::ranges::find(path, peer) == path.end()) {
    const Peer& other = peers_[static_cast<std::size_t>(peer)];
    story += fmt::format("{} rank {}", story.empty() ? "waits for" : " for", peer);
    for (const FrameHeader& header : other.inbox->all_unexpected()) {
      story += fmt::format(" (which has posted {}; it is not posted here)", describe(header));
    }
    const bool waits = other.waiting && Clock::now() - other.waiting_since < membership_.deadline / 2;
    if (!waits) {
      fail(Failure::kStalled, peer, request,
           fmt::format("{}, which has shown no sign of life for {} ms", story, membership_.deadline.count()));
    }
    story += fmt::format(", which waits in {}", other.waiting->text);
    path.push_back(peer);
    peer = static_cast<int>(other.waiting->header.total);
  }
  fail(Failure::kMismatch, path.back() == rank() ? peer : path.back(), request,
       fmt::format("{} for rank {}: they wait for each other", story, peer));
}

void LocalCommunicator::fail(Failure failure, int peer, Request request, const std::string& message) {
  const auto operation = operations_.find(request.value);
  const std::string place = operation == operations_.end() ? "" : fmt::format(" in {}", describe(operation->second));
  const std::string what = fmt::format("rank {}{}: {}", rank(), place, message);
  broken_.emplace(failure, peer, what);
  tell_peers(failure, peer, failed_ ? failed_->text : what);
  throw *broken_;
}

void LocalCommunicator::tell_peers(Failure failure, int peer, const std::string& message) {
  for (const Peer& other : peers_) {
    if (!other.connection) continue;
    FrameHeader header{.kind = FrameKind::kFailed, .total = static_cast<std::uint64_t>(peer)};
    header.channel.number = static_cast<std::uint64_t>(failure);
    other.connection->say({header, message});
    other.connection->write();
  }
  const auto begin = Clock::now();
  const auto patience = failure == Failure::kAborted ? std::chrono::milliseconds(0) : kLastWords;
  for (const Peer& other : peers_) {
    if (!other.connection) continue;
    const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
    other.connection->finish(std::max(patience - spent, std::chrono::milliseconds(0)));
  }
}

void LocalCommunicator::rethrow_if_broken() const {
  if (broken_) throw *broken_;
}

}  // namespace executor
