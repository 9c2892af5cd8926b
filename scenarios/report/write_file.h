// Output files that are whole or not there.
#pragma once

#include <filesystem>
#include <string_view>

namespace scenarios {

/// Throws InputError when `path` cannot be written, before minutes of work for it: creates the temporary file and
/// removes it again, so that a run that is killed leaves nothing behind.
void check_writable(const std::filesystem::path& path);

/// Writes a temporary file beside `path` and renames it. Throws InputError when the place cannot be written.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace scenarios
