// One step as a timeline: Chrome's trace format, opens in ui.perfetto.dev and chrome://tracing.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "scenarios/predict/prediction.h"

namespace scenarios {

/// What happened to the ranks of a program in one step, or was predicted to.
struct Timeline {
  std::string name;  ///< "predicted": stands before the names of its processes; may be empty
  const strategies::Program* program = nullptr;
  const sim::RankClasses* classes = nullptr;  ///< a process each
  std::span<const strategies::OperationRecord> records;
};

/// A process per class of ranks, a track per lane, a slice per operation, an arrow from every send to its receive.
/// Timelines stand one below the other and begin at the same moment.
std::string trace_json(std::span<const Timeline> timelines);
/// The prediction must have been made with records.
std::string trace_json(const Prediction& prediction);

}  // namespace scenarios
