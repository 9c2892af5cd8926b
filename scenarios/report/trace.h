// One step as a timeline: Chrome's trace format, opens in ui.perfetto.dev and chrome://tracing.
#pragma once

#include <string>

#include "scenarios/predict/prediction.h"

namespace scenarios {

/// A process per stage, a track per lane, a slice per operation, an arrow from every send to its receive.
/// The prediction must have been made with records.
std::string trace_json(const Prediction& prediction);

}  // namespace scenarios
