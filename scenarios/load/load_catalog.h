// Catalogue files and inline maps -> plain values.
#pragma once

#include <filesystem>
#include <optional>

#include "hw_models/fabric.h"
#include "hw_models/gpu.h"
#include "hw_models/node.h"
#include "scenarios/catalog.h"
#include "scenarios/load/yaml_document.h"
#include "strategies/model.h"

namespace scenarios {

/// Each reads one map completely (unknown keys are findings). nullopt when something required is missing or wrong.
/// `name` is used when the map has no `name` key. Catalogue files carry `source:` (text or list, required there).
std::optional<hw_models::GpuSpec> load_gpu(const Value& map, const std::string& name, Diagnostics& diagnostics);
std::optional<hw_models::NodeSpec> load_node(const Value& map, const std::string& name, Diagnostics& diagnostics);
/// A file that holds one node. Throws InputError with all findings.
hw_models::NodeSpec load_node_file(const std::filesystem::path& path);
std::optional<hw_models::FabricSpec> load_fabric(const Value& map, const std::string& name, Diagnostics& diagnostics);
std::optional<SoftwareStack> load_software(const Value& map, const std::string& name, Diagnostics& diagnostics);
/// Inline map or catalogue file of a model, in our own words (layers, hidden, heads, ...).
std::optional<strategies::ModelSpec> load_model(const Value& map, const std::string& name, Diagnostics& diagnostics);

}  // namespace scenarios
