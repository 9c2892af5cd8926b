// The loader with its findings in the caller's hands (scenario.h has the functions that throw).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/load/diagnostics.h"
#include "scenarios/scenario.h"

namespace scenarios {

/// nullopt after errors: those of the scenario are in `diagnostics`, the printed ones of files it names in
/// `other_files`. `diagnostics.known()` is then what the loader asked for.
std::optional<Scenario> read_scenario(const std::string& text, const std::filesystem::path& folder,
                                      const Catalog& catalog, const std::vector<Override>& overrides,
                                      Diagnostics& diagnostics, std::string& other_files);

}  // namespace scenarios
