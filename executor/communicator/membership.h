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
  /// Ranks reach each other through their launcher (mpirun, srun) and need no sockets.
  bool connects_itself = false;
  /// All ranks learn of a failure and whose fault it was, within the deadline, and live to say so. Otherwise the end of
  /// one is the end of all.
  bool survives_faults = true;
};

/// "local" first: the default.
std::span<const CommunicatorKind> communicator_kinds();
const CommunicatorKind* find_communicator_kind(std::string_view name);
/// The kind that needs no sockets; nullptr where none is built.
const CommunicatorKind* self_connecting_kind();

}  // namespace executor
