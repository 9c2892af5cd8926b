// The stream socket to one peer: frames out of the outgoing streams, frames into the inbox. Never blocks.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "executor/communicator/frame.h"
#include "executor/communicator/inbox.h"
#include "executor/communicator/transfer.h"

namespace executor {

/// A frame without data: what a rank says about itself.
struct Remark {
  FrameHeader header;
  std::string text;
};

class Connection {
 public:
  /// Owns `socket`. `heard` may throw.
  Connection(int socket, Inbox& inbox, std::function<void(const Remark&)> heard);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int socket() const { return socket_; }
  bool closed() const { return closed_; }  ///< no more will come
  void close();

  /// Sends the stream after those posted before, as far as these have bytes. All must outlive its completion.
  void post(const FrameHeader& header, Outgoing* outgoing, std::span<const Incoming> feeds);
  void say(Remark remark);

  /// poll()'s events of interest.
  short events() const;
  /// Clears the memory of a full socket.
  void writable() { full_ = false; }
  /// Both return the bytes of data moved.
  std::uint64_t read();
  std::uint64_t write();
  /// Sends what can be sent within `patience`, then closes.
  void finish(std::chrono::milliseconds patience);

 private:
  struct Posted {
    FrameHeader header;
    Outgoing* outgoing;
    std::span<const Incoming> feeds;
  };

  bool in_frame() const { return header_left_ > 0 || payload_left_ > 0; }
  bool begin_frame();
  void begin_header(const FrameHeader& header);
  std::uint64_t sent(std::size_t bytes);
  std::uint64_t parse();
  std::size_t parse_remark();

  int socket_;
  Inbox& inbox_;
  std::function<void(const Remark&)> heard_;
  bool closed_ = false, full_ = false, broken_ = false;

  std::deque<Posted> posted_;
  std::deque<Remark> remarks_;
  std::array<std::byte, sizeof(FrameHeader)> header_{};  ///< of the frame being written
  std::size_t header_left_ = 0, payload_left_ = 0;
  Outgoing* writing_ = nullptr;  ///< null: a remark

  std::vector<std::byte> buffer_;  ///< bytes read; [begin_, end_) are not yet taken
  std::size_t begin_ = 0, end_ = 0;
  FrameHeader remark_;  ///< of the remark being read
  bool in_remark_ = false;
};

}  // namespace executor
