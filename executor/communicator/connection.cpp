#include "executor/communicator/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace executor {
namespace {

constexpr std::size_t kBufferBytes = kFramePayload + sizeof(FrameHeader);
constexpr std::size_t kDirectRead = 4096;     ///< less is not worth a second vector
constexpr std::size_t kReadBudget = 4 << 20;  ///< of one peer before the others get their turn
constexpr int kSocketBuffer = 1 << 20;        ///< the kernel caps it (net.core.wmem_max)
constexpr std::size_t kRemarkBytes = 4096;

msghdr message(std::span<iovec> vectors) {
  msghdr header{};
  header.msg_iov = vectors.data();
  header.msg_iovlen = vectors.size();
  return header;
}

}  // namespace

Connection::Connection(int socket, Inbox& inbox, std::function<void(const Remark&)> heard)
    : socket_(socket), inbox_(inbox), heard_(std::move(heard)), buffer_(kBufferBytes) {
  ::fcntl(socket_, F_SETFD, FD_CLOEXEC);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDBUF, &kSocketBuffer, sizeof kSocketBuffer);
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &kSocketBuffer, sizeof kSocketBuffer);
}

Connection::~Connection() { close(); }

void Connection::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
  closed_ = true;
}

void Connection::finish(std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + patience;
  const auto left = [end] {
    return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count());
  };
  pollfd polled{socket_, POLLOUT, 0};
  for (write(); !closed_ && full_ && left() > 0 && ::poll(&polled, 1, left()) >= 0; write()) full_ = false;
  if (closed_) return;
  ::shutdown(socket_, SHUT_WR);
  // TCP throws away what it has not sent yet when it closes with unread bytes: read until all is acknowledged.
  int domain = AF_UNIX, queued = 0;
  socklen_t size = sizeof domain;
  ::getsockopt(socket_, SOL_SOCKET, SO_DOMAIN, &domain, &size);
  while (domain != AF_UNIX && left() > 0 && ::ioctl(socket_, TIOCOUTQ, &queued) == 0 && queued > 0) {
    polled.events = POLLIN;
    ::poll(&polled, 1, 1);
    if (::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT) == 0) break;
  }
  close();
}

void Connection::post(const FrameHeader& header, Outgoing* outgoing, std::span<const Incoming> feeds) {
  posted_.push_back({header, outgoing, feeds});
}

void Connection::say(Remark remark) {
  remark.text.resize(std::min(remark.text.size(), kRemarkBytes));
  remark.header.payload = static_cast<std::uint32_t>(remark.text.size());
  remarks_.push_back(std::move(remark));
}

short Connection::events() const { return static_cast<short>(POLLIN | (full_ && !broken_ ? POLLOUT : 0)); }

void Connection::begin_header(const FrameHeader& header) {
  std::memcpy(header_.data(), &header, sizeof header);
  header_left_ = sizeof header;
  payload_left_ = header.payload;
}

bool Connection::begin_frame() {
  const auto begin_remark = [this] {
    if (remarks_.empty()) return false;
    writing_ = nullptr;
    begin_header(remarks_.front().header);
    return true;
  };
  if (!remarks_.empty() && remarks_.front().header.kind != FrameKind::kLeaving) return begin_remark();
  for (const Posted& posted : posted_) {
    const std::uint64_t available = posted.outgoing->available(posted.feeds);
    if (available == 0 && posted.outgoing->opened()) continue;
    posted.outgoing->open();
    writing_ = posted.outgoing;
    FrameHeader header = posted.header;
    header.payload = static_cast<std::uint32_t>(std::min<std::uint64_t>(available, kFramePayload));
    header.total = writing_->total();
    begin_header(header);
    return true;
  }
  return begin_remark();  // the farewell comes last
}

std::uint64_t Connection::write() {
  std::uint64_t moved = 0;
  while (!closed_ && !full_ && !broken_ && (in_frame() || begin_frame())) {
    std::array<iovec, 8> vectors{};
    vectors[0] = {header_.data() + header_.size() - header_left_, header_left_};
    std::size_t used = 1;
    if (writing_ != nullptr) {
      used += writing_->gather(payload_left_, std::span(vectors).subspan(1));
    } else {
      std::string& text = remarks_.front().text;
      vectors[used++] = {text.data() + text.size() - payload_left_, payload_left_};
    }
    const msghdr header = message(std::span(vectors).first(used));
    const ssize_t n = ::sendmsg(socket_, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) {
      if (errno == EINTR) continue;
      full_ = errno == EAGAIN || errno == EWOULDBLOCK;
      broken_ = !full_;  // the peer is gone; what it said last is still to be read
      break;
    }
    moved += sent(static_cast<std::size_t>(n));
  }
  return moved;
}

std::uint64_t Connection::sent(std::size_t bytes) {
  const std::size_t head = std::min(bytes, header_left_), payload = bytes - head;
  header_left_ -= head;
  payload_left_ -= payload;
  if (writing_ == nullptr) {
    if (!in_frame()) remarks_.pop_front();
    return 0;
  }
  writing_->advance(payload);
  if (!in_frame() && writing_->complete()) {
    posted_.erase(std::ranges::find(posted_, writing_, &Posted::outgoing));
  }
  return bytes;
}

std::uint64_t Connection::read() {
  std::uint64_t moved = 0, received = 0;
  while (!closed_ && received < kReadBudget) {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    end_ -= std::exchange(begin_, 0);
    std::span<std::byte> room = end_ == 0 ? inbox_.room() : std::span<std::byte>();
    if (room.size() < kDirectRead) room = {};
    std::array<iovec, 2> vectors{iovec{room.data(), room.size()}, iovec{buffer_.data() + end_, buffer_.size() - end_}};
    msghdr header = message(room.empty() ? std::span(vectors).subspan(1) : std::span(vectors));
    const ssize_t n = ::recvmsg(socket_, &header, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n <= 0) {  // the end, or ECONNRESET and its like
      closed_ = true;
      break;
    }
    received += static_cast<std::uint64_t>(n);
    const std::size_t direct = std::min(room.size(), static_cast<std::size_t>(n));
    if (direct > 0) inbox_.filled(direct);
    end_ += static_cast<std::size_t>(n) - direct;
    moved += direct + parse();
    if (direct < room.size() || end_ < buffer_.size()) break;  // drained
  }
  return moved;
}

std::uint64_t Connection::parse() {
  std::uint64_t moved = 0;
  while (true) {
    const std::span<const std::byte> bytes = std::span(buffer_).subspan(begin_, end_ - begin_);
    std::size_t taken = 0;
    if (in_remark_) {
      taken = parse_remark();
      if (in_remark_) break;
    } else if (inbox_.frame_left() > 0) {
      taken = inbox_.take(bytes);
      if (taken == 0) break;
      moved += taken;
    } else {
      if (bytes.size() < sizeof(FrameHeader)) break;
      FrameHeader header;
      std::memcpy(&header, bytes.data(), sizeof header);
      taken = sizeof header;
      in_remark_ = header.kind != FrameKind::kData;
      if (in_remark_) {
        if (header.kind < FrameKind::kData || header.kind > FrameKind::kLeaving || header.payload > kRemarkBytes) {
          throw std::runtime_error("a peer doesn't speak this protocol: another version or byte order?");
        }
        remark_ = header;
      } else {
        inbox_.begin_frame(header);
        moved += taken;
      }
    }
    begin_ += taken;
  }
  return moved;
}

std::size_t Connection::parse_remark() {
  if (end_ - begin_ < remark_.payload) return 0;
  in_remark_ = false;
  heard_({remark_, std::string(reinterpret_cast<const char*>(buffer_.data() + begin_), remark_.payload)});
  return remark_.payload;
}

}  // namespace executor
