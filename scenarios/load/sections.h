// The sections of a scenario file, each read by its own file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/catalog.h"
#include "scenarios/load/yaml_document.h"
#include "scenarios/scenario.h"

namespace scenarios {

/// What every section needs. Findings about files that the scenario names (a config.json, a catalogue file) have
/// places of their own: their printed text is kept in `other_files`.
struct Reading {
  const Catalog& catalog;
  std::filesystem::path folder;  ///< of the scenario: paths in it are relative to this
  Diagnostics& diagnostics;
  std::string other_files;
};

struct ClusterSection {
  hw_models::ClusterSpec cluster;
  hw_models::GpuSpec gpu;
  PriceSpec price;
};

struct FaultsSection {
  struct SlowGpuPlace {
    Place all, rank;
  };
  struct DeadNicPlace {
    Place all, node, nic;
  };
  Faults faults;
  std::vector<SlowGpuPlace> slow_gpus;  ///< one for each of the faults
  std::vector<DeadNicPlace> dead_nics;
};

/// Name of a rule or path of an existing file.
struct PlacementSection {
  std::string word;
  Place place;
};

struct ExecuteSection {
  ExecuteSpec spec;
  hw_models::OptimizerKind optimizer = hw_models::OptimizerKind::kAdamW;  ///< part of the Program
};

/// nullopt: something is wrong, and a finding says so.
std::optional<strategies::ModelSpec> read_model(const Value& value, Reading& reading);
std::optional<strategies::TrainingSpec> read_training(const Value& value, Reading& reading);
std::optional<ClusterSection> read_cluster(const Value& value, Reading& reading);
std::optional<PriceSpec> read_price(const Value& value, Reading& reading);
std::optional<FaultsSection> read_faults(const Value& value, Reading& reading);
std::optional<ExecuteSection> read_execute(const Value& value, Reading& reading);
std::optional<SoftwareStack> read_software(const Value& value, Reading& reading);

/// `data` is 0 when the file leaves it open (see complete_plan).
std::optional<strategies::PlanSpec> read_plan(const Value& value, Reading& reading);
/// Fills in `data` = what is left of the cluster, or reports that ranks and GPUs do not match (`data` may then stay 0).
void complete_plan(const Value& root, const hw_models::ClusterSpec& cluster, strategies::PlanSpec& plan,
                   Diagnostics& diagnostics);

std::optional<PlacementSection> read_placement(const Value& value, Reading& reading);
/// Reads the seats of `ranks` ranks from the file, if it is one. nullopt: it has defects.
std::optional<strategies::PlacementChoice> complete_placement(const PlacementSection& section,
                                                              const hw_models::ClusterSpec& cluster, int ranks,
                                                              Reading& reading);

/// Reports faults of what the cluster does not have; warns of the others: the prediction is not that of a sound one.
void check_faults(const Value& root, const FaultsSection& section, const hw_models::ClusterSpec& cluster,
                  const strategies::PlacementChoice& placement, Diagnostics& diagnostics);

/// Place of the value at "plan.tensor"; of the nearest map around it when the file does not give it.
Place place_of(const Value& root, std::string_view path);

/// The catalogue's fabric for nodes whose scenario names none: by cloud instance, else by the rate of a NIC.
std::string usual_fabric(const hw_models::NodeSpec& node);

}  // namespace scenarios
