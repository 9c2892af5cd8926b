// The Communicator over MPI, for CPU clusters whose network or launcher speaks MPI; built where CMake finds one. Also
// the oracle of the local one: what both of them do is what the interface says.
//
// It is fail-stop: MPI ends the job when a rank dies, and nobody learns who it was but from mpirun. Deadline and abort
// descriptor are looked at in waits and between operations only; a rank that fails leaves MPI unfinished, and the end
// of its process ends the job.
#pragma once

#include <memory>

#include "executor/communicator/membership.h"

namespace executor {

/// Ranks are the first `membership.ranks` processes of MPI_COMM_WORLD, the sockets are not used. Initialises MPI unless
/// somebody has, and then finalises it, too, which waits for all. Throws std::runtime_error where MPI and the
/// membership disagree about the ranks.
std::unique_ptr<Communicator> join_mpi(Membership membership);

}  // namespace executor
