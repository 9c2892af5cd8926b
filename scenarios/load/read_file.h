// Input files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace scenarios {

/// The content of `path` ("-" = standard input), cut after `limit` + 1 bytes, so that a longer file can be told.
/// Throws InputError when it is not there, is a directory or cannot be read.
std::string read_file(const std::filesystem::path& path, std::size_t limit);

}  // namespace scenarios
