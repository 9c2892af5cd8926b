#include "tests/scenarios/cli/run_binary.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace scenarios {
namespace {

namespace fs = std::filesystem;

/// What the child's descriptors are, and where it starts.
class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  void open(int descriptor, const std::string& path, int flags) {
    posix_spawn_file_actions_addopen(&actions_, descriptor, path.c_str(), flags, 0600);
  }
  void change_folder(const char* path) { posix_spawn_file_actions_addchdir_np(&actions_, path); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

}  // namespace

RunResult run_binary(const std::vector<std::string>& arguments, const std::string& input) {
  const ScratchFolder scratch;
  write_text(scratch.path("in"), input);
  FileActions actions;
  actions.change_folder(TRAINYARD_SOURCE_DIR);
  actions.open(STDIN_FILENO, scratch.path("in"), O_RDONLY);
  actions.open(STDOUT_FILENO, scratch.path("out"), O_WRONLY | O_CREAT | O_TRUNC);
  actions.open(STDERR_FILENO, scratch.path("err"), O_WRONLY | O_CREAT | O_TRUNC);
  std::vector<std::string> words{"trainyard"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int problem = posix_spawn(&child, TRAINYARD_BINARY, actions.get(), nullptr, pointers.data(), environ);
  if (problem != 0) throw std::system_error(problem, std::generic_category(), TRAINYARD_BINARY);
  int status = 0;
  if (waitpid(child, &status, 0) != child) throw std::system_error(errno, std::generic_category(), "waitpid");
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(scratch.path("out")), read_file(scratch.path("err"))};
}

std::vector<std::string> example_files() {
  const fs::path root = TRAINYARD_SOURCE_DIR;
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(root / "scenarios/examples")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().lexically_relative(root).string());
  }
  std::ranges::sort(files);
  return files;
}

ScratchFolder::ScratchFolder() {
  std::string pattern = (fs::temp_directory_path() / "trainyard-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::system_error(errno, std::generic_category(), pattern);
  folder_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::vector<std::string> ScratchFolder::names() const {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream stream(path, std::ios::binary);
  stream << text;
  if (!stream.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace scenarios
