// A step as predicted beside the same step as it ran: operation kind by operation kind, lane by lane.
//
// On both sides, of one rank and one step:
//   time of a kind    = sum over its operations of end - begin; of a collective or a receive without its wait
//   wait              = from the begin of a collective to that of its last member; of a receive, to its send's
//   between           = the step - all of that: what no operation accounts for
// A figure is the mean over the ranks; a measured one the mean of that over the middle half of the measured steps by
// length: an interrupted step distorts nothing, and the figures still add up.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "strategies/program/interpreter.h"
#include "strategies/program/program.h"

namespace scenarios {

struct ComparedRow {
  std::string name;  ///< "matmul-nt", "all-reduce (data)", "waiting for peers"; "compute", "tensor" for lanes
  double count = 0;  ///< operations of one rank in one step
  double predicted_s = 0, measured_s = 0;

  double error() const;  ///< predicted / measured - 1; 0 when neither takes time
};

struct Comparison {
  double predicted_step_s = 0, measured_step_s = 0;
  std::vector<double> measured_steps_s;  ///< warm-up left out
  std::vector<ComparedRow> kinds;        ///< longest measured first; then "waiting for peers"
  std::vector<ComparedRow> lanes;        ///< in the lanes' order, those that are used
  int typical_step = 0;                  ///< the measured step of middle length

  double error() const;                ///< of the step: predicted / measured - 1
  double predicted_between_s() const;  ///< what the kinds do not account for
  double measured_between_s() const;
  double explained() const;  ///< share of the measured step that the kinds account for, [0, 1]
};

/// What an operation is counted as.
std::string kind_of(const strategies::Operation& operation);

/// Whether the record is that of a kernel.
bool is_kernel(const strategies::Program& program, const strategies::OperationRecord& record);

/// `predicted`: one step of every rank. `measured`: consecutive steps of every rank from step 0; the first `warm_up`
/// >= 1 of them are left out. Throws std::invalid_argument when a rank lacks an operation or no step is left.
Comparison compare(const strategies::Program& program, double predicted_step_s,
                   std::span<const strategies::OperationRecord> predicted,
                   std::span<const strategies::OperationRecord> measured, int warm_up);

}  // namespace scenarios
