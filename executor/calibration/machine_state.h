// The machine under a measurement, and what else it was doing (Linux: /proc).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace executor {

struct MachineState {
  std::string processor;          ///< "AMD EPYC 7R13 Processor"; "unknown"
  std::vector<int> cores;         ///< that this process may use
  std::int64_t memory_bytes = 0;  ///< of the machine
  double load_average = 0;        ///< one minute
  double pressure = 0;            ///< share of the last 10 s in which a task waited for a core; -1 = unknown
  std::int64_t busy_ticks = 0, steal_ticks = 0;  ///< of all cores since the start: other guests' share
};

MachineState machine_state();

/// Share of the time between two states that the host took from this guest.
double stolen_share(const MachineState& before, const MachineState& after);

/// Binds the calling thread to one core; does nothing where that is refused.
void pin_to(int core);
/// Allows the calling thread all of them again.
void allow(const std::vector<int>& cores);

}  // namespace executor
