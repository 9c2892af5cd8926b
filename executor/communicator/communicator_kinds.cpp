#include <algorithm>
#include <array>

#include "executor/communicator/local_communicator.h"
#include "executor/communicator/membership.h"
#ifdef TRAINYARD_MPI
#include "executor/communicator/mpi_communicator.h"
#endif

namespace executor {
namespace {

std::unique_ptr<Communicator> join_local(Membership membership) {
  return std::make_unique<LocalCommunicator>(std::move(membership));
}

constexpr std::array kKinds = {
    CommunicatorKind{"local", "own rings over sockets (AF_UNIX on one machine, TCP between machines)", join_local},
#ifdef TRAINYARD_MPI
    CommunicatorKind{"mpi", "MPI under mpirun or srun; fail-stop: ends the job when a rank dies", join_mpi, true,
                     false},
#endif
};

}  // namespace

std::span<const CommunicatorKind> communicator_kinds() { return kKinds; }

const CommunicatorKind* find_communicator_kind(std::string_view name) {
  const auto found = std::ranges::find(kKinds, name, &CommunicatorKind::name);
  return found == kKinds.end() ? nullptr : &*found;
}

const CommunicatorKind* self_connecting_kind() {
  const auto found = std::ranges::find(kKinds, true, &CommunicatorKind::connects_itself);
  return found == kKinds.end() ? nullptr : &*found;
}

}  // namespace executor
