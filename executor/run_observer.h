// What a rank tells about its run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "strategies/program/interpreter.h"

namespace executor {

/// Shares of one rank; the run's figures are sums over ranks (run_collector.h).
struct StepReport {
  int step = 0;
  double loss_sum = 0;        ///< over the tokens of this rank; 0 where another rank reports them
  double gradient_norm = -1;  ///< over all parameters, before clipping; -1 = the Program does not compute it
  std::int64_t end_ns = 0;    ///< since the run's start
};

/// A parameter as a rank holds it.
struct HeldParameter {
  const strategies::Buffer* buffer = nullptr;
  std::span<const float> values;
  int tensor = 0, tensors = 1;  ///< place among the tensor ranks
  std::size_t first = 0;        ///< `values` begin with this element of the tensor rank's share
};

/// What remains of a rank after its last step.
struct RankSummary {
  std::uint64_t weights_hash = 0;    ///< of the bits of all weights
  std::int64_t peak_bytes = 0;       ///< of buffers alive
  std::int64_t workspace_bytes = 0;  ///< kernels' and messages' own memory, beside the Program's buffers
  std::int64_t processor_ns = 0;     ///< what its process had of processors, from its first step to its last
  bool crowded = false;              ///< its machine has more ranks than processors
};

class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void step(const StepReport& report) = 0;
  /// Only if the run keeps records. An operation of the host or one that has no work takes no time.
  virtual void record(const strategies::OperationRecord& record) = 0;
  virtual void finished(const RankSummary& summary, std::span<const HeldParameter> parameters) = 0;
};

}  // namespace executor
