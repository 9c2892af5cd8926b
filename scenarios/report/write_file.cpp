#include "scenarios/report/write_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "scenarios/load/diagnostics.h"

namespace scenarios {

void write_file(const std::filesystem::path& path, std::string_view content) {
  const std::filesystem::path temporary = path.string() + fmt::format(".{}.tmp", ::getpid());
  const auto fail = [&] {
    const std::string reason = std::strerror(errno);
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw InputError(fmt::format("{}: error: cannot write: {}\n", path.string(), reason));
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
