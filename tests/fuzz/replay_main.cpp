// Runs a fuzz target over the files of a corpus, for compilers without libFuzzer: replay CORPUS_DIRECTORY...
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::filesystem::path> files_in(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void replay(const std::filesystem::path& file) {
  std::printf("%s\n", file.c_str());
  std::fflush(stdout);  // the name must be visible when the target aborts
  std::ifstream stream(file, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  std::vector<std::uint8_t> input(bytes.size());
  std::transform(bytes.begin(), bytes.end(), input.begin(), [](char c) { return static_cast<std::uint8_t>(c); });
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t replayed = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& file : files_in(argv[i])) {
      replay(file);
      ++replayed;
    }
  }
  if (replayed == 0) std::fprintf(stderr, "error: the corpus holds no files\n");
  return replayed == 0 ? 1 : 0;
}
