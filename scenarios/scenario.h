// A loaded scenario: everything a verb needs, in plain values.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "executor/run_settings.h"
#include "hw_models/cluster.h"
#include "hw_models/gpu.h"
#include "scenarios/catalog.h"
#include "sim/rank_classes.h"
#include "strategies/model.h"
#include "strategies/placement/placement.h"
#include "strategies/plan.h"
#include "strategies/training.h"

namespace scenarios {

struct PriceSpec {
  double usd_per_gpu_hour = 0;         ///< 0 = unknown; from the node's catalogue price unless given
  std::optional<double> usd_per_node;  ///< bought: price of a node ...
  double years = 4;                    ///< ... written off over these years of use
  double power_usd_per_kwh = 0;        ///< added when bought
  double pue = 1.2;
  std::string source;  ///< where usd_per_gpu_hour comes from
};

/// What is wrong with the machine.
struct Faults {
  std::vector<sim::SlowGpu> slow_gpus;
  std::vector<hw_models::DeadNic> dead_nics;
  std::optional<hw_models::ThinLink> thin_link;

  bool any() const { return !slow_gpus.empty() || !dead_nics.empty() || thin_link; }
};

/// How `trainyard execute` trains.
struct ExecuteSpec {
  executor::RunSettings run;
  std::optional<std::filesystem::path> data;  ///< bytes to train on; empty = the documentation compiled in
};

struct Scenario {
  std::string name;  ///< file name without folder, or "-" for standard input
  strategies::ModelSpec model;
  strategies::TrainingSpec training;
  strategies::PlanSpec plan;
  hw_models::ClusterSpec cluster;
  hw_models::GpuSpec gpu;
  PriceSpec price;
  strategies::PlacementChoice placement;
  Faults faults;  ///< not in `cluster`
  SoftwareStack software;
  ExecuteSpec execute;
  std::vector<std::string> warnings;
};

/// "plan.tensor=4": lies over the file before it is checked; findings name it as --set.
struct Override {
  std::string path, value;
};

/// Loads `path` ("-" = standard input). Throws InputError with all findings.
Scenario load_scenario(const std::filesystem::path& path, const Catalog& catalog,
                       const std::vector<Override>& overrides = {});
/// The same for text already read; relative paths in it are relative to `folder`.
Scenario load_scenario_text(const std::string& text, const std::string& file, const std::filesystem::path& folder,
                            const Catalog& catalog, const std::vector<Override>& overrides = {});

}  // namespace scenarios
