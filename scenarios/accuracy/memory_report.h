// A MemoryAccuracy for people and for programs.
#pragma once

#include <string>

#include "scenarios/accuracy/memory_accuracy.h"

namespace scenarios {

std::string memory_accuracy_text(const MemoryAccuracy& report);
std::string memory_accuracy_json(const MemoryAccuracy& report);
/// One line per run: what was measured and predicted, the verdict, or why it was skipped.
std::string memory_accuracy_csv(const MemoryAccuracy& report);

}  // namespace scenarios
