// A connected stream socket between every two ranks.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace executor {

/// Of ranks on one machine, for processes to be forked or for threads: [rank][peer], -1 for a rank and itself.
std::vector<std::vector<int>> socket_mesh(int ranks);

struct MasterAddress {
  std::string host;
  int port = 0;
  bool operator==(const MasterAddress&) const = default;
};

/// Over TCP (IPv4): rank 0 listens at `master`, the others connect to it, learn each other's addresses and connect
/// among themselves. Returns the sockets of this rank. Throws std::runtime_error, which names who is missing, when the
/// mesh isn't complete within `patience`.
std::vector<int> tcp_mesh(int rank, int ranks, const MasterAddress& master, std::chrono::milliseconds patience);

}  // namespace executor
