// One plain measured run, and variations of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scenarios/accuracy/measured_run.h"

namespace scenarios {

using Cells = std::map<std::string, std::string>;  ///< by column

/// 13B parameters on 16 A100 in two nodes: tensor 2, pipeline 2, data 4. Holds every column that is read.
Cells example_cells(const Cells& changes = {});

/// A table of rows with equal columns, in the order of their names.
std::string csv_of(const std::vector<Cells>& rows);

std::vector<MeasuredRun> runs_of(const std::vector<Cells>& rows);
MeasuredRun example_run(const Cells& changes = {});

}  // namespace scenarios
