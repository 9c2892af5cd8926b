// A worker's place in its run: who it is and how it reaches the others. Taken from the environment that the supervisor,
// torchrun, mpirun or Slurm has given it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "executor/communicator/membership.h"
#include "executor/communicator/socket_mesh.h"

namespace executor {

struct Seat {
  std::string launcher;  ///< "supervisor", "torchrun", "mpirun", "slurm"
  int rank = 0, ranks = 1, local_rank = 0;
  MasterAddress master;      ///< where rank 0 listens; of the supervisor's workers: none
  std::vector<int> sockets;  ///< of the supervisor's workers
  int abort = -1, report = -1;
};

/// Value of an environment variable, null if there is none: std::getenv.
using Environment = std::function<const char*(const char* name)>;

/// The variable by which the supervisor tells a worker its seat, and its text form.
inline constexpr const char* kSeatVariable = "TRAINYARD_SEAT";
std::string seat_text(const Seat& seat);

/// None when nobody has launched this process as one of several ranks. Throws std::runtime_error, naming the variable,
/// when what it is told is incomplete or absurd.
std::optional<Seat> find_seat(const Environment& environment);

/// Meets the other ranks. Throws std::runtime_error when that isn't done within `patience`.
Membership take_seat(const Seat& seat, std::chrono::milliseconds patience, std::chrono::milliseconds deadline);

/// A worker's words to its supervisor; without one (report -1) they go nowhere.
class Reporter {
 public:
  explicit Reporter(int report) : report_(report) {}
  /// A line of any text about a step that is complete.
  void step(std::int64_t step, std::string_view line) const;
  /// The last word before the worker ends with an exit code other than 0.
  void failed(const std::exception& error) const;

 private:
  void write(std::string_view line) const;
  int report_;
};

}  // namespace executor
