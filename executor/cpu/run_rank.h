// Trains one rank's part of a Program on the CPU.
#pragma once

#include <cstdint>

#include "executor/communicator/communicator.h"
#include "executor/corpus.h"
#include "executor/run_observer.h"
#include "executor/run_settings.h"
#include "strategies/program/interpreter.h"

namespace executor::cpu {

/// One thread computes and communicates: only one operation runs at a time, the lowest in program order. Sends complete
/// when they are posted; their bytes move, like those of peers, whenever this rank is between operations or waits.
inline constexpr strategies::LaneEngines kLaneEngines{};

struct RunChoice {
  bool records = false;       ///< report every operation
  std::int64_t start_ns = 0;  ///< of the monotonic clock: what reported times count from
  int local_rank = 0;         ///< among the ranks of this machine
};

/// Runs all steps; what it reports arrives in order on the calling thread. Throws CommunicationError when a peer fails,
/// std::logic_error when the Program contradicts itself.
void run_rank(const strategies::Program& program, strategies::Rank rank, const RunSettings& settings,
              const Corpus& corpus, Communicator& communicator, RunObserver& observer, const RunChoice& choice = {});

/// Nanoseconds of the monotonic clock, which all processes of a machine share.
std::int64_t now_ns();

}  // namespace executor::cpu
