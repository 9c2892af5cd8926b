#include "executor/communicator/mpi_mailbox.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "executor/communicator/mpi_collective.h"

namespace executor {
namespace {

constexpr int kHeaderTag = 0, kPayloadTag = 1;

bool match(const MpiMessage& message, int peer, std::uint64_t tag) {
  return message.peer == peer && message.header.tag == tag;
}

}  // namespace

MpiMailbox::MpiMailbox(MPI_Comm ranks, WrongSize wrong_size) : ranks_(ranks), wrong_size_(std::move(wrong_size)) {
  listen();
}

MpiMailbox::~MpiMailbox() {
  MPI_Cancel(&listening_);
  MPI_Wait(&listening_, MPI_STATUS_IGNORE);
}

void MpiMailbox::send(MpiMessage& message, std::span<const std::byte> data) {
  const int bytes = mpi_count(data.size());
  MPI_Isend(&message.header, sizeof message.header, MPI_BYTE, message.peer, kHeaderTag, ranks_, &message.requests[0]);
  if (bytes == 0) return;
  MPI_Isend(data.data(), bytes, MPI_BYTE, message.peer, kPayloadTag, ranks_, &message.requests[1]);
}

void MpiMailbox::receive(MpiMessage& message) {
  const auto early = std::ranges::find_if(
      early_, [&](const MpiMessage& other) { return match(other, message.peer, message.header.tag); });
  if (early == early_.end()) {
    message.moving = false;
    awaited_.push_back(&message);
    return;
  }
  if (early->header.bytes != message.header.bytes) wrong_size_(message, early->header.bytes);
  message.requests = early->requests;
  message.early = std::move(early->early);
  early_.erase(early);
}

bool MpiMailbox::progress() {
  for (bool moved = false;; moved = true) {
    int arrived = 0;
    MPI_Status status;
    MPI_Test(&listening_, &arrived, &status);
    if (arrived == 0) return moved;
    const MpiMessage::Header header = announced_;
    listen();
    expect_payload(status.MPI_SOURCE, header);
  }
}

bool MpiMailbox::complete(MpiMessage& message) {
  int done = 0;
  if (message.moving) MPI_Testall(2, message.requests.data(), &done, MPI_STATUSES_IGNORE);
  if (done == 0) return false;
  if (!message.early.empty()) std::memcpy(message.target.data(), message.early.data(), message.early.size());
  return true;
}

void MpiMailbox::listen() {
  MPI_Irecv(&announced_, sizeof announced_, MPI_BYTE, MPI_ANY_SOURCE, kHeaderTag, ranks_, &listening_);
}

/// Payloads come in the order of their headers.
void MpiMailbox::expect_payload(int from, const MpiMessage::Header& header) {
  const auto found =
      std::ranges::find_if(awaited_, [&](const MpiMessage* other) { return match(*other, from, header.tag); });
  MpiMessage* message = nullptr;
  std::span<std::byte> place;
  if (found == awaited_.end()) {
    message = &early_.emplace_back(MpiMessage{.peer = from, .header = header});
    message->early.resize(header.bytes);
    place = message->early;
  } else {
    message = *found;
    if (message->header.bytes != header.bytes) wrong_size_(*message, header.bytes);
    message->moving = true;
    awaited_.erase(found);
    place = message->target;
  }
  if (place.empty()) return;
  MPI_Irecv(place.data(), mpi_count(place.size()), MPI_BYTE, from, kPayloadTag, ranks_, &message->requests[1]);
}

}  // namespace executor
