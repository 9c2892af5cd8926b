// The figures of a catalogue entry, as rows for people and as JSON in base units from the same table.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hw_models/fabric.h"
#include "hw_models/gpu.h"
#include "hw_models/node.h"
#include "scenarios/catalog.h"
#include "strategies/model.h"
#include "strategies/pipeline/schedule.h"

namespace scenarios {

struct Figure {
  std::string label;             ///< "memory bandwidth"
  std::string key;               ///< "memory_bandwidth_bytes_per_s"
  std::string text;              ///< "3350 GB/s"; empty = not known, left out of the rows
  nlohmann::ordered_json value;  ///< base units
};

std::vector<Figure> figures(const hw_models::GpuSpec& gpu);
std::vector<Figure> figures(const hw_models::NodeSpec& node);
std::vector<Figure> figures(const hw_models::FabricSpec& fabric);
std::vector<Figure> figures(const SoftwareStack& software);
std::vector<Figure> figures(const strategies::ModelSpec& model);
std::vector<Figure> figures(const strategies::Schedule& schedule);

}  // namespace scenarios
