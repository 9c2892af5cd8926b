// What a long transfer reaches of a link's nominal rate.
#pragma once

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

}  // namespace hw_models
