// What a collective really takes: NCCL's choice by NCCL's own estimate, then the system's correction.
//
//   t = launch + (base - base of LL) + step x (intra + inter latency)
//         + bytes / (algorithm bandwidth x factor) x (steps + 1/2) / steps + ramp
//   ramp = R x depth x bytes / (bytes + 32 MiB), under Simple, and LL128 between domains;   depth = steps / 14, between
//   domains at most
//          1 + log2(domains)
//
// (steps + 1/2) / steps: the channels' threads also move the part that stays on the GPU, at twice the rate of a link;
// in-switch reduction (NVLS) has no such part and no factor. R is the ramp of an all-reduce over 8 ranks. Inside a
// domain all numbers are the node's. A group that leaves it adds the fabric's launch, scales its network steps by the
// fabric's factor, and takes the fabric's ramp; the rate between nodes is the fabric's efficiency of the line rate
// already.
//
// All-to-all and send/receive are messages (no model in NCCL): LL up to 16 KiB a message, Simple beyond,
//
//   t = launch + protocol + step x latency + 0.3 us x (connections - 1) + max over tiers (bytes / rate), + ramp
//
// PXN: messages for one node go through the neighbour on the receiver's rail and are one connection a node. NICs are
// shared by the GPUs on them. The own part of an all-to-all is copied at 1 / 0.7 of the link's rate.
#pragma once

#include "hw_models/nccl/cost.h"

namespace hw_models {

struct NcclEstimate {
  Seconds time{};
  NcclAlgorithm algorithm = NcclAlgorithm::kNone;
  NcclProtocol protocol = NcclProtocol::kSimple;
  bool network_bound = false;  ///< the slowest link is between nodes
  Seconds latency{};           ///< of `time`, what does not grow with the size
};

/// `bytes`: the whole buffer as nccl-tests counts it. Nothing to do: time 0, algorithm kNone. `choice` that leaves
/// nothing: as if it were not given, as NCCL does.
NcclEstimate nccl_estimate(Operation operation, Bytes bytes, const NcclGroup& group, const NcclChoice& choice = {});
/// The way of one message.
struct MessagePath {
  enum class Medium : std::uint8_t { kNvlink, kPcie, kNetwork };
  Seconds latency{};                ///< of its hops, as a low-latency message has it
  BytesPerSecond rate{};            ///< of its slowest link
  Medium medium = Medium::kNvlink;  ///< the slowest on its way
};
NcclEstimate nccl_message(Bytes bytes, const MessagePath& path, const NcclSystem& system);
/// Every rank sends `bytes` to its neighbour and receives as much (nccl-tests' sendrecv).
NcclEstimate nccl_send_receive(Bytes bytes, const NcclGroup& group);

}  // namespace hw_models
