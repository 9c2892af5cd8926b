// What `simulate` and `memory` answer, as plain values. Definitions: docs/models.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/predict/gpu_kinds.h"
#include "scenarios/predict/simulate_scenario.h"
#include "scenarios/scenario.h"
#include "sim/step_result.h"
#include "strategies/placement/group_spread.h"
#include "strategies/program/program.h"

namespace scenarios {

/// Times in seconds, FLOP rates in TFLOP/s, ratios in [0, 1].
struct StepPrediction {
  double time_s = 0;
  double tokens_per_s = 0, tokens_per_s_per_gpu = 0;
  double model_tflops_per_gpu = 0;
  double mfu = 0;         ///< matmuls with LM head and the full attention square over the dense peak
  double mfu_causal = 0;  ///< half the attention
  double hfu = 0;         ///< mfu plus recomputation
  std::string flops_convention;
  double peak_tflops = 0;
  std::string dtype;
  sim::Breakdown breakdown_ns{};
  std::int64_t contention_ns = 0;      ///< what of the breakdown was lost to sharing ports and multiprocessors
  std::vector<GpuKindStep> gpu_kinds;  ///< of a mixed cluster, in order of its nodes; empty where all are alike
};

struct StageMemory {
  int stage = 0;
  std::int64_t peak_bytes = 0;       ///< reserved: allocator cache and fragmentation included
  std::int64_t allocated_bytes = 0;  ///< sum of the parts below
  std::int64_t weights = 0, gradients = 0, optimizer = 0, activations = 0, other = 0;
  int microbatches = 0;  ///< most microbatches alive at once
};

/// Of a mixed cluster: the heaviest stage on GPUs of one kind.
struct GpuKindMemory {
  std::string gpu;
  std::int64_t capacity_bytes = 0;
  int stage = 0;
  std::int64_t peak_bytes = 0, peak_allocated_bytes = 0, device_bytes = 0;

  std::int64_t margin_bytes() const { return capacity_bytes - device_bytes; }
};

/// In a mixed cluster capacity, peaks and device bytes are those of the kind of GPU with the smallest margin, and a
/// stage is listed as it is on the smallest GPU that hosts it.
struct MemoryPrediction {
  bool fits = true;
  std::int64_t capacity_bytes = 0;
  std::int64_t peak_bytes = 0, peak_allocated_bytes = 0;  ///< of the heaviest stage
  std::int64_t overhead_bytes = 0;                        ///< context and communicators
  std::int64_t device_bytes = 0;                          ///< peak + overhead
  std::vector<StageMemory> stages;
  std::vector<GpuKindMemory> gpu_kinds;  ///< in order of the nodes; empty where all are alike

  std::int64_t margin_bytes() const { return capacity_bytes - device_bytes; }
};

/// The whole run; steps, days, hours, cost and energy are 0 when the scenario names no tokens.
struct RunPrediction {
  double tokens = 0;
  std::int64_t steps = 0;
  double days = 0, gpu_hours = 0;
  double cost_usd = 0;  ///< 0 when no price is known
  std::string cost_basis;
  double energy_kwh = 0;
  double average_gpu_watts = 0;
  std::string energy_status = "not validated";
};

struct Band {
  double step_low_s = 0, step_high_s = 0;
  std::string basis;
};

struct Bottleneck {
  std::string name;     ///< "compute", "exposed_tensor", ..., "memory"
  std::string problem;  ///< "speed", "capacity" or "both"
  std::string figures;  ///< why: the numbers behind `problem`
  std::string advice;
};

/// Where the job's groups lie.
struct PlacementPrediction {
  std::string rule;  ///< "packed", "rail" or the file of the seats
  std::vector<strategies::FamilySpread> families;
  std::vector<std::string> warnings;
};

/// What the scenario's faults cost.
struct FaultCost {
  double sound_step_s = 0;  ///< of a sound cluster
  double cost_s = 0;        ///< of the step beyond that
};

struct Prediction {
  std::string scenario, fingerprint;
  int gpus = 0;
  StepPrediction step;
  MemoryPrediction memory;
  RunPrediction run;
  Band band;
  Bottleneck bottleneck;
  PlacementPrediction placement;
  std::optional<FaultCost> faults;
  std::vector<std::string> warnings;  ///< the scenario's, then the placement's, then that of hashed routing
  strategies::Program program;
  sim::StepResult result;  ///< with records when asked for
};

Prediction predict(const Scenario& scenario, const SimulationChoice& choice = {});

/// Memory alone, without pricing or simulating the step.
MemoryPrediction predict_memory(const Scenario& scenario, const strategies::Program& program);
PlacementPrediction predict_placement(const Scenario& scenario, const strategies::Program& program,
                                      const PlacedJob& job);
RunPrediction predict_run(const Scenario& scenario, const StepPrediction& step, int gpus);
Band predict_band(double step_s);
Bottleneck find_bottleneck(const Scenario& scenario, const Prediction& prediction);

}  // namespace scenarios
