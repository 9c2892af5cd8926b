// What a collective or message puts on one GPU's ports, whatever its time is: the seconds for which its bytes fill each
// port at the port's full rate. Over the time it takes alone, that is the share of the port it occupies meanwhile.
//
//   V, volume of a ring per byte: all-reduce 2 (n-1)/n, all-gather, reduce-scatter, all-to-all (n-1)/n, others 1
//   scale-up port   S V x (the hops that stay inside: all, or (r-1)/r of them between domains) / intra
//   NIC             S V / inter: the group's NICs together carry what crosses a domain's border
//   all-to-all      S/n x near peers / intra, S/n x far peers / inter per rank
//   ring of messages  S / intra where a neighbour is near, S / inter per rank where one is far
//   message         bytes / rate of each link on its way; NICs divided among the messages that cross them at once
//   PCIe slot       what goes to a NIC; what stays inside where the scale-up is PCIe
//
// intra and inter are the group's share while its siblings run (network.h): the peers of a host do the same at the same
// time, so a share that is full means that the port is full. Collectives load both directions alike; a message loads
// the outgoing ports of its sender and the incoming ones of its receiver. In a mixed cluster intra and inter are those
// of the GPU's own pool: fast ports are busy for a part of the time that the slow ones dictate.
#pragma once

#include <array>
#include <cstdint>

#include "hw_models/cluster.h"
#include "hw_models/network.h"
#include "hw_models/units.h"

namespace hw_models {

enum class Port : std::uint8_t { kScaleUpOut, kScaleUpIn, kNicOut, kNicIn, kPcieOut, kPcieIn };
inline constexpr std::size_t kPorts = 6;

struct WireLoad {
  std::array<Seconds, kPorts> busy{};  ///< by Port
  double memory_bytes = 0;             ///< of traffic to and from the GPU's own memory
  int channels = 0;                    ///< multiprocessors that its kernel holds while it runs

  Seconds& at(Port port) { return busy[static_cast<std::size_t>(port)]; }
  Seconds at(Port port) const { return busy[static_cast<std::size_t>(port)]; }
};

/// On a GPU of `pool`. `bytes` as Network::collective counts them. Nothing for a group of one.
WireLoad collective_load(Operation operation, Bytes bytes, const GroupLayout& layout, const ClusterSpec& cluster,
                         int pool = 0);

/// On the sender; the receiver's is the same with the directions exchanged: between unlike nodes every port counts as
/// at the end where it is busier.
WireLoad send_load(Bytes bytes, const Cluster& cluster, int from_gpu, int to_gpu, const NicSharers& sharers = {});

}  // namespace hw_models
