#include "executor/calibration/operation_cost.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "executor/calibration/statistics.h"
#include "executor/communicator/membership.h"
#include "executor/corpus.h"
#include "executor/cpu/run_rank.h"
#include "executor/run_observer.h"

namespace executor {
namespace {

constexpr int kSteps = 50;

/// Time between operations, step by step.
class GapObserver final : public RunObserver {
 public:
  void record(const strategies::OperationRecord& record) override {
    busy_ns_ += record.end_ns - record.begin_ns;
    ++operations_;
  }
  void step(const StepReport& report) override {
    const std::int64_t idle_ns = report.end_ns - last_end_ns_ - busy_ns_;
    if (operations_ > 0) gaps_.push_back(1e-9 * static_cast<double>(idle_ns) / static_cast<double>(operations_));
    last_end_ns_ = report.end_ns;
    busy_ns_ = 0;
    operations_ = 0;
  }
  void finished(const RankSummary& /*summary*/, std::span<const HeldParameter> /*parameters*/) override {}

  const std::vector<double>& gaps() const { return gaps_; }

 private:
  std::int64_t last_end_ns_ = 0, busy_ns_ = 0, operations_ = 0;
  std::vector<double> gaps_;
};

}  // namespace

double operation_seconds(const strategies::Program& program, std::int64_t sequence_length) {
  const auto communicator = communicator_kinds().front().join({.rank = 0, .ranks = 1, .sockets = {-1}});
  const Corpus corpus(std::string(default_corpus()), sequence_length, 1);
  GapObserver observer;
  cpu::run_rank(program, strategies::Rank{0}, {.steps = kSteps}, corpus, *communicator, observer,
                {.records = true, .start_ns = cpu::now_ns()});
  return spread_of(observer.gaps()).median;
}

}  // namespace executor
