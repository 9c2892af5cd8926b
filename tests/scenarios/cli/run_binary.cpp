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
#include <utility>

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

/// This process's environment with some variables set, for as long as it lives.
class EnvironmentBlock {
 public:
  explicit EnvironmentBlock(const RunningProgram::Environment& changes) {
    for (const auto& [name, value] : changes) lines_.push_back(name + "=" + value);
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string line = *entry;
      if (!changes.contains(line.substr(0, line.find('=')))) lines_.push_back(line);
    }
    for (std::string& line : lines_) pointers_.push_back(line.data());
    pointers_.push_back(nullptr);
  }
  char* const* get() { return pointers_.data(); }

 private:
  std::vector<std::string> lines_;
  std::vector<char*> pointers_;
};

}  // namespace

RunningProgram::RunningProgram(std::vector<std::string> command, const Environment& environment,
                               const std::string& input) {
  write_text(scratch_.path("in"), input);
  FileActions actions;
  actions.change_folder(TRAINYARD_SOURCE_DIR);
  actions.open(STDIN_FILENO, scratch_.path("in"), O_RDONLY);
  actions.open(STDOUT_FILENO, scratch_.path("out"), O_WRONLY | O_CREAT | O_TRUNC);
  actions.open(STDERR_FILENO, scratch_.path("err"), O_WRONLY | O_CREAT | O_TRUNC);
  std::vector<char*> pointers;
  for (std::string& word : command) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  EnvironmentBlock block(environment);
  const int problem = posix_spawnp(&pid_, pointers[0], actions.get(), nullptr, pointers.data(), block.get());
  if (problem != 0) throw std::system_error(problem, std::generic_category(), command.front());
}

RunResult RunningProgram::wait() {
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) throw std::system_error(errno, std::generic_category(), "waitpid");
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(scratch_.path("out")),
          read_file(scratch_.path("err"))};
}

RunResult run_binary(const std::vector<std::string>& arguments, const std::string& input) {
  std::vector<std::string> command{TRAINYARD_BINARY};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return RunningProgram(std::move(command), {}, input).wait();
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
