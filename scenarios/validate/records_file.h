// OpRecords as `execute --records-out` writes them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "strategies/program/interpreter.h"
#include "strategies/program/program.h"

namespace scenarios {

/// Throws InputError with file and line when it is not such a file, or holds the records of another program.
std::vector<strategies::OperationRecord> read_records(const std::filesystem::path& path,
                                                      const strategies::Program& program);
/// The same for text already read.
std::vector<strategies::OperationRecord> parse_records(const std::string& text, const std::string& file,
                                                       const strategies::Program& program);

}  // namespace scenarios
