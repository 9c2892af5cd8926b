// The sections of a scenario file, each read by its own file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

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

struct ExecuteSection {
  ExecuteSpec spec;
  hw_models::OptimizerKind optimizer = hw_models::OptimizerKind::kAdamW;  ///< part of the Program
};

/// nullopt: something is wrong, and a finding says so.
std::optional<strategies::ModelSpec> read_model(const Value& value, Reading& reading);
std::optional<strategies::TrainingSpec> read_training(const Value& value, Reading& reading);
std::optional<ClusterSection> read_cluster(const Value& value, Reading& reading);
std::optional<PriceSpec> read_price(const Value& value, Reading& reading);
std::optional<Faults> read_faults(const Value& value, Reading& reading);
std::optional<ExecuteSection> read_execute(const Value& value, Reading& reading);
std::optional<SoftwareStack> read_software(const Value& value, Reading& reading);

/// `data` is 0 when the file leaves it open (see complete_plan).
std::optional<strategies::PlanSpec> read_plan(const Value& value, Reading& reading);
/// Fills in `data` = what is left of the cluster, or reports that ranks and GPUs do not match (`data` may then stay 0).
void complete_plan(const Value& root, const hw_models::ClusterSpec& cluster, strategies::PlanSpec& plan,
                   Diagnostics& diagnostics);

/// Place of the value at "plan.tensor"; of the nearest map around it when the file does not give it.
Place place_of(const Value& root, std::string_view path);

/// The catalogue's fabric for nodes whose scenario names none: by cloud instance, else by the rate of a NIC.
std::string usual_fabric(const hw_models::NodeSpec& node);

}  // namespace scenarios
