// Golden files: tests/golden/NAME holds what a test expects. TRAINYARD_UPDATE_GOLDEN=1 writes them anew.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tests {

/// The file tests/golden/`name` (may name subfolders) holds exactly `actual`.
inline void expect_golden(const std::string& name, const std::string& actual) {
  const std::filesystem::path path = std::filesystem::path(TRAINYARD_SOURCE_DIR) / "tests" / "golden" / name;
  const char* update = std::getenv("TRAINYARD_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << actual;
    return;
  }
  std::ifstream stream(path, std::ios::binary);
  ASSERT_TRUE(stream) << path << " is missing; TRAINYARD_UPDATE_GOLDEN=1 writes it";
  const std::string expected{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  EXPECT_EQ(actual, expected) << path << " differs; if the change is meant, run again with TRAINYARD_UPDATE_GOLDEN=1";
}

}  // namespace tests
