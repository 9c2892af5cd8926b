// Numbers of NCCL's own tuning model and of the correction of each GPU generation.
// Source of the tuning numbers: NCCL 2.30.7, src/graph/tuning.cc, topo.h and search.cc, read as facts.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "hw_models/collective_correction.h"
#include "hw_models/nccl/algorithm.h"

namespace hw_models {

enum class NcclGeneration : std::uint8_t { kVolta, kAmpere, kHopper, kBlackwell, kCdna, kPcie };

/// Microseconds by protocol: LL, LL128, Simple.
using ByProtocol = std::array<double, 3>;

/// Latencies of one algorithm: fixed, per step over NVLink, PCIe and the network.
struct NcclLatency {
  NcclAlgorithm algorithm;
  ByProtocol base, nvlink, pcie, net;
};

inline constexpr std::array<NcclLatency, 7> kNcclLatencies{{
    {NcclAlgorithm::kTree, {6.8, 14.0, 8.4}, {0.6, 1.25, 4.0}, {1.0, 1.9, 4.0}, {5.0, 8.5, 14.0}},
    {NcclAlgorithm::kRing, {6.6, 14.0, 8.4}, {0.6, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 14.0}},
    {NcclAlgorithm::kCollNetDirect, {0, 0, 0}, {0, 0, 3.7}, {0, 0, 3.7}, {0, 0, 31.0}},
    {NcclAlgorithm::kCollNetChain, {0, 0, 0}, {0, 0, 2.8}, {0, 0, 2.8}, {0, 0, 30.0}},
    {NcclAlgorithm::kNvls, {0, 0, 0}, {0, 0, 25.0}, {0, 0, 0}, {0, 0, 18.0}},
    {NcclAlgorithm::kNvlsTree, {0, 0, 0}, {0, 0, 25.0}, {0, 0, 0}, {0, 0, 20.9}},
    {NcclAlgorithm::kPat, {8.0, 8.0, 8.0}, {0, 0, 4.0}, {0, 0, 4.0}, {0, 0, 14.0}},
}};

/// Fixed and per-step latencies of the low-latency ring, which the catalogue's hop latencies stand for.
inline constexpr double kLowLatencyBase = 6.6, kNvlinkHop = 0.6, kPcieHop = 1.0, kNetHop = 2.7;
/// Least time of a ring step on several nodes (Intel hosts; three times as much under Simple).
inline constexpr double kNetOverhead = 1.0;

/// GB/s on one, two, and more nodes.
using ByNodes = std::array<double, 3>;

struct NcclGenerationFacts {
  NcclGeneration generation;
  std::string_view name;
  int channels;               ///< of rings and trees: channels x search speed lies just under the sum of the links
  ByNodes low_latency;        ///< ceiling of LL. NCCL takes its row for several nodes by CPU vendor: Intel
  double ring_ll128;          ///< ceiling per channel
  ByNodes tree_ll128, tree;   ///< ceilings per channel
  ByNodes nvls_tree;          ///< likewise; 0 = not used
  double nvls_efficiency;     ///< 0 = no NVLink SHARP
  double nvls_channel;        ///< fastest search speed of a channel
  NodeCorrection correction;  ///< fitted to all sweeps of the generation: trainyard_fit --sweep
};

/// RCCL's fixed costs are 12, 12 and 17 us (rccl at 0cbce2a7): its correction holds that. PCIe: GPUs without NVLink,
/// Ampere's ceilings.
inline constexpr std::array<NcclGenerationFacts, 6> kNcclGenerations{{
    {NcclGeneration::kVolta,
     "volta",
     12,
     {39.0, 39.0, 20.4},
     20,
     {20, 20, 20},
     {26.5, 18.5, 10.0},
     {26.5, 18.5, 10.0},
     0,
     0,
     {Seconds(9.8e-6), 1.8, 0.988, Seconds(145e-6)}},
    {NcclGeneration::kAmpere,
     "ampere",
     24,
     {87.7, 39.0, 20.4},
     20,
     {20, 20, 20},
     {24.0, 23.6, 17.8},
     {24.0, 23.6, 17.8},
     0,
     0,
     {Seconds(9.8e-6), 1.8, 0.988, Seconds(145e-6)}},
    {NcclGeneration::kHopper,
     "hopper",
     24,
     {141.0, 39.0, 20.4},
     36.7,
     {36.7, 36.7, 29.0},
     {38.7, 41.4, 36.0},
     {0, 57.7, 45.5},
     0.85,
     60,
     {Seconds(5.2e-6), 1.39, 1.062, Seconds(75e-6)}},
    {NcclGeneration::kBlackwell,
     "blackwell",
     24,
     {282.0, 39.0, 20.4},
     40.0,
     {55.6, 31.67, 20.0},
     {70.0, 42.8, 24.0},
     {0, 96.0, 80.0},
     0.74,
     90,
     {Seconds(8.1e-6), 2.08, 0.947, Seconds(35e-6)}},
    {NcclGeneration::kCdna,
     "cdna",
     24,
     {87.7, 39.0, 20.4},
     20,
     {20, 20, 20},
     {24.0, 23.6, 17.8},
     {24.0, 23.6, 17.8},
     0,
     0,
     {Seconds(38e-6), 0.42, 0.812, Seconds(0)}},
    {NcclGeneration::kPcie,
     "pcie",
     2,
     {87.7, 39.0, 20.4},
     20,
     {20, 20, 20},
     {24.0, 23.6, 17.8},
     {24.0, 23.6, 17.8},
     0,
     0,
     {Seconds(5.9e-6), 0.65, 0.88, Seconds(1.9e-3)}},
}};

/// A rate factor of trees by message size, 64 B, 128 B ... 512 MB; 1 beyond.
inline constexpr std::array<std::array<double, 24>, 3> kTreeCorrection{{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
}};

/// Of fabrics that nobody measured: InfiniBand NDR's.
inline constexpr FabricCorrection kUsualFabricCorrection{Seconds(2.8e-6), 1.0, Seconds(65e-6)};

/// NVLS channels x speed, as a share of what rings get: 8 x 40 of 360 and 8 x 80 of 720 GB/s, which reproduce the 476
/// and 829 GB/s that H100 and B200 nodes reach (an inference, not logged values). Channels: one per GPU, at most 24.
inline constexpr double kNvlsShare = 8.0 / 9;
inline constexpr int kMostNvlsChannels = 24;
/// NVLS trees leave a domain by the NICs of this many GPUs: racks of 72 reach 810 GB/s on two domains and 405 on
/// twenty, 8 NICs of 50 GB/s (CoreWeave's published nccl-tests of GB200).
inline constexpr int kNvlsTreeNics = 8;

/// Messages up to this size go by LL (NCCL_P2P_LL_THRESHOLD).
inline constexpr double kMessageLowLatencyBytes = 16384;

}  // namespace hw_models
