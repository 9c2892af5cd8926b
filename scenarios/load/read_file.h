// Input files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace scenarios {

/// The content of `path` ("-" = standard input), cut after `limit` + 1 bytes, so that a longer file can be told.
/// Throws InputError when it is not there, is a directory or cannot be read.
std::string read_file(const std::filesystem::path& path, std::size_t limit);

/// The same, but InputError when the file is longer: "FILE: error: more than N bytes are too many for WHAT".
std::string read_bounded_file(const std::filesystem::path& path, std::size_t limit, std::string_view what);

}  // namespace scenarios
