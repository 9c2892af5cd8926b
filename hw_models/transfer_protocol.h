// How a collective library moves bytes: two wire protocols, of which the faster is taken for every message, and the
// share of a line rate that a long transfer reaches.
//
//   t = base + sum over steps (hop latency + extra) + bytes / (rate x share)
#pragma once

#include <array>

#include "hw_models/cluster.h"
#include "hw_models/units.h"

namespace hw_models {

/// Share of the nominal rate of scale-up links that a long transfer reaches. Ring all-reduce on one node: A100 235 of
/// 300, H100 368 of 450, B200 690 of 900 GB/s; unidirectional copies: 275 of 300, 376 of 450, 747 of 900 (Bekman, ML
/// Engineering, network benchmarks, 2025). One figure for all: 0.8. PCIe rates are payload rates already.
inline constexpr double kScaleUpEfficiency = 0.8;

/// Payload rate of a link inside a node.
inline BytesPerSecond payload_rate(const Link& link) {
  return link.kind == LinkClass::kScaleUp ? link.bandwidth * kScaleUpEfficiency : link.bandwidth;
}

struct TransferProtocol {
  Seconds base{};              ///< once per operation
  Seconds intra_extra{};       ///< per step inside a node, on top of the hop's latency
  Seconds inter_extra{};       ///< per step between nodes, likewise
  Seconds tree_inter_extra{};  ///< per tree level between nodes
  double share = 1;            ///< of the rate: flags take half of a low-latency line
  double tree_share = 1;       ///< the same for a tree
};

/// Source: NCCL 2.30 tuning.cc. Base latency of a ring 8.4 / 6.6 us; NVLink step 3.4 / 0.6 us, network step 14 / 2.7 us
/// (tree 14 / 5.0 us). The low-latency figures are what the hop itself costs (the catalogue's latencies), so the
/// differences are what belongs to the protocol. Tree rate factors: 0.92, and 1 / 3.8 for the low-latency one.
inline constexpr TransferProtocol kBulkProtocol{
    Seconds(8.4e-6), Seconds(2.8e-6), Seconds(11.3e-6), Seconds(11.3e-6), 1.0, 0.92};
inline constexpr TransferProtocol kLowLatencyProtocol{Seconds(6.6e-6), Seconds(0), Seconds(0),
                                                      Seconds(2.3e-6), 0.5,        1 / 3.8};
inline constexpr std::array<TransferProtocol, 2> kTransferProtocols{kBulkProtocol, kLowLatencyProtocol};

}  // namespace hw_models
