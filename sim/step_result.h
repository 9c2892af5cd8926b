// What a simulated step yields.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/rank_classes.h"
#include "strategies/program/interpreter.h"

namespace sim {

/// Where the time of the compute lane goes. An idle nanosecond belongs to what it waits for.
enum class TimeKind : std::uint8_t {
  kCompute,
  kRecompute,
  kOptimizer,
  kHost,
  kExposedTensor,
  kExposedData,
  kExposedPipeline,
  kExposedContext,
  kExposedExpert,
  kBubble,
  kImbalance,
  kStraggler,
  kDataStall,
  kOther
};
inline constexpr int kTimeKinds = 14;
const char* name(TimeKind kind);  ///< JSON key: "compute", "recompute", ..., "exposed_tensor", ...

using Breakdown = std::array<std::int64_t, kTimeKinds>;  ///< nanoseconds

struct ClassResult {
  std::int64_t step_end_ns = 0;    ///< end of its last operation in the last step
  Breakdown breakdown{};           ///< of one steady step; sums to StepResult::step_ns
  std::int64_t contention_ns = 0;  ///< what of the breakdown was lost to sharing ports and multiprocessors
};

struct StepResult {
  std::int64_t step_ns = 0;  ///< one steady step: from update k to update k + 1
  RankClasses classes;
  std::vector<ClassResult> of_class;
  Breakdown mean{};                                  ///< over ranks, sums to step_ns
  std::int64_t contention_ns = 0;                    ///< mean over ranks
  std::vector<strategies::OperationRecord> records;  ///< of the last step, one representative per class; if asked for
};

}  // namespace sim
