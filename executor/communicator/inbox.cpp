#include "executor/communicator/inbox.h"

#include <algorithm>

namespace executor {

void Inbox::expect(const Channel& channel, Incoming* incoming) {
  Streams& streams = streams_[channel];
  if (streams.kept.empty()) {
    streams.expected.push_back(incoming);
    return;
  }
  Kept& kept = streams.kept.front();
  adopt(kept, channel, *incoming);
  if (!kept.complete()) streams.expected.push_back(incoming);
  streams.kept.pop_front();
  if (&streams != current_ && streams.kept.empty() && streams.expected.empty()) streams_.erase(channel);
}

void Inbox::adopt(Kept& kept, const Channel& channel, Incoming& incoming) {
  if (kept.header.total != incoming.total()) wrong_size_(channel, kept.header.total, incoming.total());
  incoming.open();
  incoming.take(kept.bytes);
}

const FrameHeader* Inbox::unexpected(const Channel& channel) const {
  const auto found = streams_.find(channel);
  return found == streams_.end() || found->second.kept.empty() ? nullptr : &found->second.kept.front().header;
}

std::vector<FrameHeader> Inbox::all_unexpected() const {
  std::vector<FrameHeader> headers;
  for (const auto& [channel, streams] : streams_) {
    for (const Kept& kept : streams.kept) headers.push_back(kept.header);
  }
  return headers;
}

void Inbox::begin_frame(const FrameHeader& header) {
  channel_ = header.channel;
  current_ = &streams_[channel_];
  frame_left_ = header.payload;
  const bool continues = current_->kept.empty() ? !current_->expected.empty() && current_->expected.front()->opened()
                                                : !current_->kept.back().complete();
  if (!continues) {
    opened_(header);
    if (current_->expected.empty()) {
      current_->kept.push_back({header, {}});
    } else {
      Incoming& incoming = *current_->expected.front();
      if (incoming.total() != header.total) wrong_size_(channel_, header.total, incoming.total());
      incoming.open();
    }
  }
  if (frame_left_ == 0) advance_frame(0);
}

std::size_t Inbox::take(std::span<const std::byte> bytes) {
  bytes = bytes.first(std::min(bytes.size(), frame_left_));
  if (bytes.size() < frame_left_) bytes = bytes.first(bytes.size() - bytes.size() % 8);  // keep numbers whole
  std::size_t taken = bytes.size();
  if (current_->kept.empty()) {
    taken = current_->expected.front()->take(bytes);
  } else {
    std::vector<std::byte>& kept = current_->kept.back().bytes;
    kept.insert(kept.end(), bytes.begin(), bytes.end());
  }
  advance_frame(taken);
  return taken;
}

std::span<std::byte> Inbox::room() {
  if (frame_left_ == 0 || !current_->kept.empty()) return {};
  const std::span<std::byte> room = current_->expected.front()->room();
  return room.first(std::min(room.size(), frame_left_));
}

void Inbox::filled(std::size_t bytes) {
  current_->expected.front()->filled(bytes);
  advance_frame(bytes);
}

void Inbox::advance_frame(std::size_t bytes) {
  frame_left_ -= bytes;
  if (frame_left_ > 0) return;
  if (!current_->expected.empty() && current_->expected.front()->complete()) current_->expected.pop_front();
  if (current_->expected.empty() && current_->kept.empty()) streams_.erase(channel_);
  current_ = nullptr;
}

}  // namespace executor
