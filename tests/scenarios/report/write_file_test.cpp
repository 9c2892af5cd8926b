#include "scenarios/report/write_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/load/diagnostics.h"
#include "tests/scenarios/cli/run_binary.h"

namespace scenarios {
namespace {

TEST(WriteFile, WritesAndReplacesWholeFiles) {
  const ScratchFolder folder;
  const std::string text("a\0b\r\n", 5);
  write_file(folder.path("f"), text);
  EXPECT_EQ(read_file(folder.path("f")), text);
  write_file(folder.path("f"), "");
  EXPECT_EQ(read_file(folder.path("f")), "");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"f"});
}

TEST(WriteFile, LeavesNothingBehindWhenItFails) {
  const ScratchFolder folder;
  EXPECT_THROW(write_file(folder.path("missing/f"), "x"), InputError);
  write_file(folder.path("f"), "old");
  EXPECT_THROW(write_file(folder.path("f/g"), "x"), InputError);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"f"});
  EXPECT_EQ(read_file(folder.path("f")), "old");
}

TEST(WriteFile, KeepsLinksAndPipes) {
  const ScratchFolder folder;
  write_file(folder.path("target"), "old");
  std::filesystem::create_symlink("target", folder.path("link"));
  write_file(folder.path("link"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
  EXPECT_EQ(read_file(folder.path("target")), "new");

  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  const int reader = ::open(folder.path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  write_file(folder.path("pipe"), "through");
  char text[8] = {};
  EXPECT_EQ(::read(reader, text, sizeof text), 7);
  EXPECT_STREQ(text, "through");
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(folder.path("pipe")));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"link", "pipe", "target"}));
}

TEST(WriteFile, RefusesAnEmptyName) { EXPECT_THROW(write_file("", "x"), InputError); }

// A link or a device stays what it is.
TEST(WriteFile, WritesThroughLinksAndDevices) {
  const ScratchFolder folder;
  write_text(folder.path("target"), "old");
  std::filesystem::create_symlink(folder.path("target"), folder.path("link"));
  write_file(folder.path("link"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
  EXPECT_EQ(read_file(folder.path("target")), "new");
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"link", "target"}));
  write_file("/dev/null", "x");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(WriteFile, IsCheckedWithoutATrace) {
  const ScratchFolder folder;
  write_file(folder.path("old"), "kept");
  std::filesystem::create_symlink("nowhere", folder.path("link"));
  for (const char* good : {"old", "new", "link"}) check_writable(folder.path(good));
  check_writable("/dev/null");
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"link", "old"}));
  EXPECT_EQ(read_file(folder.path("old")), "kept");
  const std::pair<std::string, std::string> bad[] = {
      {"", "the name is empty"},
      {folder.path(""), "it is a directory"},
      {folder.path("missing/f"), "the folder does not exist"},
      {folder.path("old/f"), "the folder does not exist"},
      {folder.path(std::string(300, 'x')), "File name too long"},
      {"/proc/f", ""},  // even root creates nothing there
  };
  for (const auto& [path, reason] : bad) {
    try {
      check_writable(path);
      ADD_FAILURE() << "accepted: " << path;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("error: cannot write: " + reason), std::string::npos) << error.what();
    }
  }
}

TEST(WriteFile, EmptyName) {
  try {
    write_file("", "x");
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "'': error: cannot write: the name is empty\n");
  }
}

}  // namespace
}  // namespace scenarios
