// A rank's reports as lines of text: what a worker tells its supervisor, and a launched rank rank 0.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "executor/run_collector.h"
#include "executor/run_observer.h"

namespace executor {

/// Writes reports as lines. Records of a step are one line, written with the step.
class ReportWriter final : public RunObserver {
 public:
  using Write = std::function<void(int step, std::string_view line)>;
  explicit ReportWriter(Write write) : write_(std::move(write)) {}

  void step(const StepReport& report) override;
  void record(const strategies::OperationRecord& record) override;
  void finished(const RankSummary& summary, std::span<const HeldParameter> parameters) override;

 private:
  void flush_records();

  Write write_;
  int last_step_ = 0;
  std::string records_;
};

/// Hands a line of rank `rank` to the collector. Throws std::logic_error for one that no ReportWriter wrote.
void read_report(int rank, std::string_view line, RunCollector& collector);

}  // namespace executor
