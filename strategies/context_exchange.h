// How the ranks that split a sequence come by each other's keys and values.
#pragma once

#include <cstdint>

namespace strategies {

/// Bytes that a rank sends for one layer's attention, of c ranks, with K and V of one rank of k bytes, the gradients as
/// many, packed Q, K, V of p bytes and an output of o bytes:
///              forward           backward
///   ring       (c-1) k           2 (c-1) k            beside the kernels
///   all-gather (c-1) k           2 (c-1) k            before and behind them
///   all-to-all (c-1)/c (p + o)   (c-1)/c (p + o)      before and behind them
enum class ContextExchange : std::uint8_t {
  kRing,       ///< K and V go round, a step ahead of the kernels (Megatron-Core: p2p; ring attention, arXiv:2310.01889)
  kAllGather,  ///< every rank has all K and V (Llama 3, arXiv:2407.21783; Megatron-Core: all_gather)
  kAllToAll    ///< tokens for heads and back (DeepSpeed-Ulysses, arXiv:2309.14509; Megatron-Core: a2a)
};

}  // namespace strategies
