#include "scenarios/report/write_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "scenarios/load/diagnostics.h"

namespace scenarios {

namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& reason) {
  throw InputError(fmt::format("{}: error: cannot write: {}\n", path.string(), reason));
}

/// A device, a pipe or a link is written through: putting a new file in its place would destroy it.
bool written_through(const std::filesystem::path& path) {
  std::error_code problem;
  const std::filesystem::file_status status = std::filesystem::symlink_status(path, problem);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
         !std::filesystem::is_directory(status);
}

/// Opens `path` and writes; errno says why it is false.
bool put(const std::filesystem::path& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary);
  if (!file) return false;
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  return static_cast<bool>(file);
}

/// errno says why; the temporary file does not stay.
[[noreturn]] void give_up(const std::filesystem::path& path, const std::filesystem::path& temporary) {
  const std::string reason = std::strerror(errno);
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  refuse(path, reason);
}

/// Writes the temporary file; none is left when that fails.
std::filesystem::path put_temporary(const std::filesystem::path& path, std::string_view content) {
  const std::filesystem::path temporary = path.string() + fmt::format(".{}.tmp", ::getpid());
  if (!put(temporary, content)) give_up(path, temporary);
  return temporary;
}

}  // namespace

void check_writable(const std::filesystem::path& path) {
  if (path.empty()) refuse("''", "the name is empty");
  if (written_through(path)) {
    const bool refused = ::access(path.c_str(), W_OK) != 0 && errno != ENOENT;  // a link may lead to a new file
    if (refused) refuse(path, std::strerror(errno));
    return;
  }
  std::error_code problem;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, problem)) refuse(path, "the folder does not exist");
  if (std::filesystem::is_directory(path, problem)) refuse(path, "it is a directory");
  std::filesystem::remove(put_temporary(path, ""), problem);
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  if (path.empty()) refuse("''", "the name is empty");
  if (written_through(path)) {
    if (!put(path, content)) refuse(path, std::strerror(errno));
    return;
  }
  const std::filesystem::path temporary = put_temporary(path, content);
  if (std::rename(temporary.c_str(), path.c_str()) != 0) give_up(path, temporary);
}

}  // namespace scenarios
