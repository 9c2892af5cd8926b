// The figures of a run, put together from what its ranks report.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "executor/run_observer.h"
#include "strategies/program/program.h"

namespace executor {

struct StepFigures {
  int step = 0;
  double loss = 0;           ///< mean over the tokens of the global batch, before the update
  double gradient_norm = 0;  ///< -1: not computed
  double seconds = 0;        ///< from the last rank's end of the step before (or the run's start) to this step's
};

struct RunResult {
  std::vector<StepFigures> steps;
  std::vector<RankSummary> ranks;
  bool replicas_identical = true;  ///< ranks that differ in their data coordinate alone hold the same bits
  std::vector<strategies::OperationRecord> records;  ///< by rank, in the order they ran
};

class RunCollector {
 public:
  /// `on_step`: called once per step, in order, as soon as every rank has reported it.
  RunCollector(const strategies::Program& program, std::function<void(const StepFigures&)> on_step);

  void step(int rank, const StepReport& report);
  void record(int rank, const strategies::OperationRecord& record);
  void finished(int rank, const RankSummary& summary);

  bool complete() const { return finished_ == program_.ranks(); }
  /// Precondition: complete().
  RunResult take();

 private:
  void close_step(int step, const std::map<int, StepReport>& of_rank);

  const strategies::Program& program_;
  std::function<void(const StepFigures&)> on_step_;
  std::map<int, std::map<int, StepReport>> open_;  ///< by step, by rank
  std::vector<std::vector<strategies::OperationRecord>> records_;
  std::int64_t last_end_ns_ = 0;
  int finished_ = 0;
  RunResult result_;
};

}  // namespace executor
