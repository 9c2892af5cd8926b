// One server as its own tools describe it: a forest of PCIe devices, and scale-up links between GPUs.
//
// Importers make it from an NCCL topology file or a printed matrix; nothing in it is guessed. What a file does not say,
// or says absurdly (virtual machines report "2.5 GT/s x1" for switches), is unknown and noted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hw_models/units.h"

namespace scenarios {

enum class TopologyKind : std::uint8_t { kCpu, kHostBridge, kPcieSwitch, kGpu, kNic, kUnknown };

/// How far two devices are apart, nearest first, in the words of `nvidia-smi topo -m`.
enum class PathClass : std::uint8_t {
  kSelf,
  kScaleUp,  ///< NV#, XGMI: NVLink or xGMI
  kPix,      ///< at most one PCIe switch between them
  kPxb,      ///< several PCIe switches, no CPU
  kPhb,      ///< through one PCIe host bridge (the CPU)
  kNode,     ///< between host bridges of one NUMA node
  kSys       ///< between NUMA nodes
};
const char* name(TopologyKind kind);
const char* name(PathClass path);  ///< "X", "NV", "PIX", "PXB", "PHB", "NODE", "SYS"

struct TopologyDevice {
  TopologyKind kind = TopologyKind::kUnknown;
  std::string name;                                 ///< "GPU3", "NIC0 (mlx5_0)", "CPU1", "PCIe switch 4"
  std::string id;                                   ///< bus id, where the source has one
  int parent = -1;                                  ///< index; -1 = root
  std::optional<hw_models::BytesPerSecond> uplink;  ///< to its parent, payload, per direction
  std::optional<hw_models::BytesPerSecond> rate;    ///< NIC: of its port
  std::string model;                                ///< GPU: catalogue name, where its PCI id is known
};

/// Between two GPUs, or from a GPU to the scale-up switches (b = kSwitches).
struct ScaleUpLink {
  static constexpr int kSwitches = -1;
  int a = 0, b = kSwitches;                            ///< indices of devices
  int lanes = 0;                                       ///< bonded links
  std::optional<hw_models::BytesPerSecond> bandwidth;  ///< all lanes, per direction
};

struct NodeTopology {
  std::string source;  ///< "NCCL topology file", "nvidia-smi topo -m", "rocm-smi --showtopotype"
  std::vector<TopologyDevice> devices;
  std::vector<ScaleUpLink> scale_up;
  bool shows_scale_up = true;      ///< false: there may be links that the source leaves out
  std::vector<std::string> notes;  ///< what was dirty, and how it was read

  const TopologyDevice& at(int device) const { return devices[static_cast<std::size_t>(device)]; }
  std::vector<int> children(int parent) const;    ///< of a device; -1: the roots
  std::vector<int> all(TopologyKind kind) const;  ///< indices, in the source's order
  PathClass path(int a, int b) const;             ///< of GPUs and NICs; scale-up links first
  PathClass pcie_path(int a, int b) const;        ///< without scale-up links
  /// The NICs nearest to a GPU (all of the nearest class), in the source's order.
  std::vector<int> nearest_nics(int gpu) const;
};

}  // namespace scenarios
