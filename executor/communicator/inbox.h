// The bytes that one peer sends, sorted into the streams that this rank has posted. What comes before its operation has
// been posted is kept.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "executor/communicator/frame.h"
#include "executor/communicator/transfer.h"

namespace executor {

class Inbox {
 public:
  /// `opened` is told the first header of every stream, `wrong_size` of a stream that has another size than its
  /// counterpart here. Both may throw; the inbox is then of no use any more.
  using Opened = std::function<void(const FrameHeader& header)>;
  using WrongSize = std::function<void(const Channel& channel, std::uint64_t sent, std::uint64_t expected)>;
  Inbox(Opened opened, WrongSize wrong_size) : opened_(std::move(opened)), wrong_size_(std::move(wrong_size)) {}

  /// The next stream of the channel goes to `incoming`, which must outlive its completion.
  void expect(const Channel& channel, Incoming* incoming);
  /// The first header of a stream of this channel that nobody expects yet; null if there is none.
  const FrameHeader* unexpected(const Channel& channel) const;
  std::vector<FrameHeader> all_unexpected() const;

  /// A data frame begins; its payload follows in any portions.
  void begin_frame(const FrameHeader& header);
  std::size_t frame_left() const { return frame_left_; }
  /// Takes bytes of the frame's payload; returns how many. The rest (less than a number) is to be offered again.
  std::size_t take(std::span<const std::byte> bytes);
  /// Where the next bytes of the payload may be received into directly; empty when they must go through take().
  std::span<std::byte> room();
  void filled(std::size_t bytes);

 private:
  struct Kept {
    FrameHeader header;
    std::vector<std::byte> bytes;
    bool complete() const { return bytes.size() == header.total; }
  };
  struct Streams {  // never both: expecting adopts what is kept
    std::deque<Incoming*> expected;
    std::deque<Kept> kept;
  };

  void adopt(Kept& kept, const Channel& channel, Incoming& incoming);
  void advance_frame(std::size_t bytes);

  Opened opened_;
  WrongSize wrong_size_;
  std::map<Channel, Streams> streams_;
  Channel channel_;  ///< of the current frame
  Streams* current_ = nullptr;
  std::size_t frame_left_ = 0;
};

}  // namespace executor
