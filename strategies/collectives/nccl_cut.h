// How NCCL cuts an operation: over how many channels, and into pieces of which size.
//
//   channels = min(those of the communicator, S x traffic / 16 KiB)     traffic: 2 of an all-reduce, 1 of the others
//   chunk    = bytes of a connection's slot: LL 32 KiB, LL128 562.5 KiB, Simple 512 KiB; four of them in a ring that
//              owns blocks, under Simple; halved while S < factor x chunks at once x chunk and chunk > floor
//   slices   = S / (blocks x channels x chunk)
//
// both rounded up. Messages are cut alike, but over channels of at least 64 KiB (256 KiB where nodes differ), and into
// 128 KiB where they leave a domain. NCCL's last slice is short; here all slices are equally long, which takes as long
// wherever time is linear in bytes.
//
// Source: NCCL 2.30.7, src/enqueue.cc (scheduleCollTasksToPlan, calcCollChunking, addP2pToPlan), src/include/device.h
// and collectives.h, read as facts.
#pragma once

#include "hw_models/nccl/algorithm.h"
#include "hw_models/units.h"
#include "strategies/collectives/algorithm.h"

namespace strategies {

/// `exchange` with the channels and slices that NCCL takes for `whole` bytes. exchange.channels: the communicator's, of
/// rings and trees (NVLS has 16 of its own). The algorithm must not refuse the group.
Exchange nccl_cut(const CollectiveAlgorithm& algorithm, Exchange exchange, hw_models::NcclProtocol protocol,
                  hw_models::Bytes whole, const GroupDomains& group);

}  // namespace strategies
