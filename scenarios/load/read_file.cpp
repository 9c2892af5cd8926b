#include "scenarios/load/read_file.h"

#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <system_error>

#include "scenarios/load/diagnostics.h"

namespace scenarios {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const char* what) {
  throw InputError(path.string() + ": error: " + what + "\n");
}

/// In pieces: most files are far smaller than what they may be.
std::string read_stream(std::istream& stream, const std::filesystem::path& path, std::size_t limit) {
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  std::string text;
  while (text.size() <= limit && stream) {
    const std::size_t before = text.size();
    const std::size_t piece = std::min(kPiece, limit + 1 - before);
    text.resize(before + piece);
    stream.read(text.data() + before, static_cast<std::streamsize>(piece));
    text.resize(before + static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad()) fail(path, "reading failed");
  return text;
}

}  // namespace

std::string read_file(const std::filesystem::path& path, std::size_t limit) {
  if (path == "-") return read_stream(std::cin, path, limit);
  std::error_code problem;
  const std::filesystem::file_status status = std::filesystem::status(path, problem);
  if (status.type() == std::filesystem::file_type::not_found) fail(path, "there is no such file");
  if (std::filesystem::is_directory(status)) fail(path, "this is a directory");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(path, "the file cannot be opened");
  return read_stream(stream, path, limit);
}

std::string read_bounded_file(const std::filesystem::path& path, std::size_t limit, std::string_view what) {
  std::string text = read_file(path, limit);
  if (text.size() <= limit) return text;
  throw InputError(fmt::format("{}: error: more than {} bytes are too many for {}\n", path.string(), limit, what));
}

}  // namespace scenarios
