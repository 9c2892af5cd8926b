#include "scenarios/load/read_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "scenarios/load/diagnostics.h"
#include "tests/scenarios/cli/run_binary.h"

namespace scenarios {
namespace {

constexpr std::size_t kLimit = 200'000;

std::string refusal(const std::filesystem::path& path) {
  try {
    read_file(path, kLimit);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ReadFile, GivesTheBytes) {
  const ScratchFolder folder;
  // Around the pieces that it reads in, and what text mode would change.
  for (const std::size_t size : {0U, 1U, 65'535U, 65'536U, 65'537U, 131'072U, 200'000U}) {
    std::string text(size, 'x');
    if (size > 3) text.replace(size - 3, 3, std::string("\r\n\0", 3));
    write_text(folder.path("file"), text);
    EXPECT_TRUE(read_file(folder.path("file"), kLimit) == text) << size;
  }
}

TEST(ReadFile, StopsOneByteAfterTheLimit) {
  const ScratchFolder folder;
  write_text(folder.path("file"), std::string(kLimit + 70'000, 'x'));
  EXPECT_EQ(read_file(folder.path("file"), kLimit).size(), kLimit + 1);
  EXPECT_EQ(read_file(folder.path("file"), 0).size(), 1U);
  EXPECT_EQ(read_file("/dev/zero", 10).size(), 11U);  // it has no end
}

TEST(ReadFile, SaysWhatIsWrong) {
  const ScratchFolder folder;
  const std::string missing = folder.path("missing");
  EXPECT_EQ(refusal(missing), missing + ": error: there is no such file\n");
  const std::string below_a_file = folder.path("file/below");
  write_text(folder.path("file"), "x");
  EXPECT_NE(refusal(below_a_file), "accepted");
  const std::string directory = folder.path("directory");
  std::filesystem::create_directory(directory);
  EXPECT_EQ(refusal(directory), directory + ": error: this is a directory\n");
}

}  // namespace
}  // namespace scenarios
