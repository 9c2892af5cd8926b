// A server: how its GPUs reach each other and the network.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hw_models/collective_correction.h"
#include "hw_models/gpu.h"
#include "hw_models/measured_transfers.h"
#include "hw_models/units.h"

namespace hw_models {

enum class ScaleUpKind : std::uint8_t {
  kSwitch,  ///< NVSwitch: any pair at the full per-GPU rate
  kMesh,    ///< every pair has its own link; a pair gets `pair_bandwidth`
  kPairs,   ///< NVLink bridges between GPU 2i and 2i+1, PCIe otherwise
  kLinks,   ///< the pairs in `links`, each at its own rate; PCIe where no link leads (V100 cube, MI250X)
  kNone     ///< PCIe only
};

/// A link between two GPUs of a node, all its lanes together.
struct PairLink {
  int a = 0, b = 0;
  BytesPerSecond bandwidth{};
};

/// Which PCIe switch and NUMA domain devices hang on, and which NICs a GPU uses; local indices throughout.
struct PcieWiring {
  std::vector<int> switch_of_gpu, switch_of_nic;
  std::vector<int> host_of_switch;            ///< NUMA domain
  std::vector<std::vector<int>> nics_of_gpu;  ///< by affinity, ascending; the first one carries its messages
};

/// Bandwidths are per direction. `scale_up_domain` > `gpus` means that several nodes share one NVLink domain (NVL72).
struct NodeSpec {
  std::string name;  ///< catalogue name, e.g. "dgx-h100"
  std::string gpu;   ///< catalogue name of its GPU
  int gpus = 8;
  ScaleUpKind scale_up = ScaleUpKind::kSwitch;
  int scale_up_domain = 8;              ///< GPUs that reach each other without a NIC
  BytesPerSecond scale_up_bandwidth{};  ///< per GPU, all links together
  BytesPerSecond pair_bandwidth{};      ///< between two GPUs; equals scale_up_bandwidth behind a switch
  std::vector<PairLink> links;          ///< kLinks only
  Seconds scale_up_latency{};           ///< one hop, GPU to GPU, of a short (low-latency protocol) message
  int nics = 8;                         ///< compute NICs; 0 = the node cannot leave itself
  BytesPerSecond nic_bandwidth{};       ///< of one NIC
  int gpus_per_pcie_switch = 1;         ///< GPUs and NICs are spread over the switches evenly, in index order
  int numa_domains = 2;
  std::optional<PcieWiring> wiring;           ///< instead of the even spread
  BytesPerSecond pcie_bandwidth{};            ///< payload rate of a x16 slot (PCIe 4: 24 GB/s), per direction
  Seconds pcie_latency{};                     ///< one hop
  std::string collective_generation;          ///< of hw_models/nccl/constants.h; "" = by the NVLink rate
  std::optional<NodeCorrection> collectives;  ///< measured; else the generation's
  std::optional<GpuSpec> own_gpu;             ///< of a file that describes its device itself; `gpu` is its name
  std::optional<MeasuredTransfers> measured;  ///< of this very machine; prices what stays inside the node
  double host_speed = 1;                      ///< issuing kernels, beside hosts of 2023 (Sapphire Rapids, Genoa)
  Watts overhead_power{};                     ///< the node without its GPUs, under load
  double usd_per_hour = 0;                    ///< on demand, whole node; 0 = unknown
  std::string price_date;
};

}  // namespace hw_models
