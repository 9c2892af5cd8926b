#include "executor/communicator/transfer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "executor/communicator/reduce_bytes.h"

namespace executor {

PieceCursor::PieceCursor(std::vector<Piece> pieces) : pieces_(std::move(pieces)) {
  std::erase_if(pieces_, [](const Piece& piece) { return piece.size == 0; });
  for (const Piece& piece : pieces_) total_ += piece.size;
}

Piece PieceCursor::rest() const {
  if (piece_ == pieces_.size()) return {};
  const Piece& piece = pieces_[piece_];
  return {piece.data + offset_, piece.size - offset_, piece.reduce};
}

void PieceCursor::advance(std::size_t bytes) {
  done_ += bytes;
  offset_ += bytes;
  while (piece_ < pieces_.size() && offset_ >= pieces_[piece_].size) offset_ -= pieces_[piece_++].size;
}

std::size_t PieceCursor::gather(std::size_t bytes, std::span<iovec> vectors) const {
  std::size_t used = 0, offset = offset_;
  for (std::size_t i = piece_; i < pieces_.size() && bytes > 0 && used < vectors.size(); ++i, offset = 0) {
    const std::size_t size = std::min(bytes, pieces_[i].size - offset);
    vectors[used++] = {pieces_[i].data + offset, size};
    bytes -= size;
  }
  return used;
}

Incoming::Incoming(int peer, std::vector<Piece> pieces, Element element, Reduction reduction)
    : peer_(peer), element_(element), reduction_(reduction), cursor_(std::move(pieces)) {}

std::size_t Incoming::take(std::span<const std::byte> bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    const Piece to = cursor_.rest();
    std::size_t size = std::min(to.size, bytes.size() - taken);
    if (to.reduce) size -= size % size_of(element_);
    if (size == 0) break;
    if (to.reduce) {
      reduce_bytes(element_, reduction_, to.data, bytes.data() + taken, size);
    } else {
      std::memcpy(to.data, bytes.data() + taken, size);
    }
    cursor_.advance(size);
    taken += size;
  }
  return taken;
}

std::span<std::byte> Incoming::room() const {
  const Piece to = cursor_.rest();
  return to.reduce ? std::span<std::byte>() : std::span(to.data, to.size);
}

Outgoing::Outgoing(int peer, std::vector<Piece> pieces, int feed, std::uint64_t head)
    : peer_(peer), feed_(feed), head_(head), cursor_(std::move(pieces)) {}

std::uint64_t Outgoing::available(std::span<const Incoming> incoming) const {
  if (feed_ < 0) return total() - sent();
  const std::uint64_t ready = std::min(total(), head_ + incoming[static_cast<std::size_t>(feed_)].done());
  const std::uint64_t bytes = ready - std::min(ready, sent());
  return ready == total() ? bytes : bytes - bytes % 8;
}

}  // namespace executor
