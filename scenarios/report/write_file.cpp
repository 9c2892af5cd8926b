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

}  // namespace

void check_writable(const std::filesystem::path& path) {
  if (path.empty()) refuse("''", "the name is empty");
  std::error_code problem;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, problem)) refuse(path, "the folder does not exist");
  if (std::filesystem::is_directory(path, problem)) refuse(path, "it is a directory");
  if (::access(folder.c_str(), W_OK) != 0) refuse(path, std::strerror(errno));
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  if (path.empty()) refuse("''", "the name is empty");
  if (written_through(path)) {
    std::ofstream file(path, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.close();
    if (!file) refuse(path, std::strerror(errno));
    return;
  }
  const std::filesystem::path temporary = path.string() + fmt::format(".{}.tmp", ::getpid());
  const auto fail = [&] {
    const std::string reason = std::strerror(errno);
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    refuse(path, reason);
  };
  {
    std::ofstream file(temporary, std::ios::binary);
    if (!file) fail();
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.close();
    if (!file) fail();
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) fail();
}

}  // namespace scenarios
