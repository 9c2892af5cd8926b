// How the algorithms write their steps down: one cut of the buffers and the current channel.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "strategies/collectives/step.h"

namespace strategies {

/// S cut into blocks, every block into channels, every channel's share into slices.
struct Cut {
  int blocks = 1, channels = 1, slices = 1;

  Slice piece(int block, int channel, int slice, StepBuffer buffer = StepBuffer::kResult) const {
    const int begin = (block * channels + channel) * slices + slice;
    return {buffer, begin, begin + 1, blocks * channels * slices, 1, 0};
  }
  /// The same piece of `count` blocks, `stride` blocks apart.
  Slice pieces(int first, int count, int stride, int channel, int slice,
               StepBuffer buffer = StepBuffer::kResult) const {
    Slice result = piece(first, channel, slice, buffer);
    result.count = count;
    result.stride = count > 1 ? stride * channels * slices : 0;
    return result;
  }
};

/// Place of a member in a tree of members.
struct TreeNode {
  int parent = -1;            ///< -1: the root
  std::vector<int> children;  ///< in the order in which they are served
};

/// The connection of results on their way down; contributions go up, and everything else goes, on connection 0.
inline constexpr int kResults = 1;

class StepWriter {
 public:
  void set_channel(int channel) { channel_ = channel; }
  void send(int lane, int peer, const Slice& slice, int connection = 0) {
    add(StepKind::kSend, lane, peer, connection, slice);
  }
  void receive(int lane, int peer, const Slice& slice, int connection = 0) {
    add(StepKind::kReceive, lane, peer, connection, slice);
  }
  void reduce(int lane, int peer, const Slice& slice) { add(StepKind::kReduce, lane, peer, 0, slice); }
  void copy(int lane, const Slice& from, const Slice& to) {
    steps_.push_back({StepKind::kCopy, channel_, lane, -1, 0, to, from});
  }

  /// The sum of the peers' slices in a member that contributes nothing itself.
  void collect(int lane, std::span<const int> peers, const Slice& slice) {
    for (const int peer : peers) {
      add(peer == peers.front() ? StepKind::kReceive : StepKind::kReduce, lane, peer, 0, slice);
    }
  }

  void send_to_all(int lane, std::span<const int> peers, const Slice& slice, int connection = 0) {
    for (const int peer : peers) send(lane, peer, slice, connection);
  }

  /// All-reduce through a tree: partial sums go up on one lane, the result comes down on another, so that the slices of
  /// a pipeline do both at once. The root turns sums around on the upward lane.
  void reduce_and_broadcast(int up, int down, const TreeNode& node, const Slice& slice) {
    for (const int child : node.children) reduce(up, child, slice);
    turn(up, down, node, slice);
  }

  /// The part of it after the children's sums have arrived.
  void turn(int up, int down, const TreeNode& node, const Slice& slice) {
    const bool root = node.parent < 0;
    if (!root) {
      send(up, node.parent, slice);
      receive(down, node.parent, slice, kResults);
    }
    send_to_all(root ? up : down, node.children, slice, kResults);
  }

  std::vector<Step> take() { return std::move(steps_); }

 private:
  void add(StepKind kind, int lane, int peer, int connection, const Slice& slice) {
    steps_.push_back({kind, channel_, lane, peer, connection, slice, {}});
  }

  int channel_ = 0;
  std::vector<Step> steps_;
};

/// The steps that `write(writer, channel, slice)` adds for every channel and, in it, every slice of the cut.
template <class Write>
std::vector<Step> write_slices(const Cut& cut, Write write) {
  StepWriter writer;
  for (int channel = 0; channel < cut.channels; ++channel) {
    writer.set_channel(channel);
    for (int slice = 0; slice < cut.slices; ++slice) write(writer, channel, slice);
  }
  return writer.take();
}

}  // namespace strategies
