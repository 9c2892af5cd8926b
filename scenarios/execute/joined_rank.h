// This process as one rank of a run, started by the supervisor or by a launcher. Ranks that a launcher has started tell
// the user themselves: rank 0 the result, every rank its own failure.
#pragma once

#include <functional>
#include <memory>

#include "executor/communicator/communicator.h"
#include "executor/supervisor/seat.h"

namespace scenarios {

class JoinedRank {
 public:
  /// Meets the others. Throws std::runtime_error, naming who is missing, when that takes more than a minute.
  explicit JoinedRank(const executor::Seat& seat);

  const executor::Seat& seat() const { return seat_; }
  executor::Communicator& communicator() { return *communicator_; }
  bool supervised() const { return seat_.report >= 0; }
  /// Whether it is this rank that has the whole result.
  bool answers() const { return !supervised() && seat_.rank == 0; }

  /// This rank has found nothing wrong with its input. Returns when all have said so; throws OthersRefused when one has
  /// not.
  void agree();
  /// This rank has. True if the user is to learn of it from this rank: it is the first one of those that have.
  bool refuse();

  struct OthersRefused {};

 private:
  executor::Seat seat_;
  std::unique_ptr<executor::Communicator> communicator_;
  bool agreed_ = false;
};

/// Whether this process tells the user the result; without `rank` it is none of the ranks but their supervisor.
inline bool answers(const JoinedRank* rank) { return rank == nullptr || rank->answers(); }

/// Joins the run and does this rank's part of it. Returns the exit code, the part's or that of a failure, which the
/// user or the supervisor learns of: 2 on all ranks when one finds fault with its input (InputError), 1 for anything
/// else.
int take_part(const executor::Seat& seat, const std::function<int(JoinedRank&)>& part);

}  // namespace scenarios
