// What a rank needs to join its run: who it is, a connected stream socket to every peer, and how it is told to stop.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "executor/communicator/communicator.h"

namespace executor {

struct Membership {
  int rank = 0;
  int ranks = 1;
  std::vector<int> sockets = {};  ///< one per rank, -1 for the own; the communicator closes them
  int abort = -1;                 ///< when this descriptor becomes readable, every operation ends with kAborted
  /// How long a wait may last while nothing moves. Set it above the longest computation between two communications.
  std::chrono::milliseconds deadline = std::chrono::minutes(5);
};

/// An implementation of Communicator.
struct CommunicatorKind {
  std::string_view name, summary;
  std::unique_ptr<Communicator> (*join)(Membership membership);
};

/// "local" first: the default.
std::span<const CommunicatorKind> communicator_kinds();
const CommunicatorKind* find_communicator_kind(std::string_view name);

}  // namespace executor
