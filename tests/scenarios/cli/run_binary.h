// Runs the real program `trainyard`, as a user does.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace scenarios {

struct RunResult {
  int exit_code = -1;  ///< -1: ended by a signal
  std::string output, error;
};

/// A folder of its own for files that one test writes; removed with its content.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  /// What lies in it, sorted.
  std::vector<std::string> names() const;

 private:
  std::string folder_;
};

/// A program on its way, from the source directory. Must be waited for.
class RunningProgram {
 public:
  using Environment = std::map<std::string, std::string>;
  /// `command`: the program, looked for as a shell does, and its arguments. `environment`: on top of the test's own.
  RunningProgram(std::vector<std::string> command, const Environment& environment, const std::string& input = "");
  RunResult wait();

 private:
  ScratchFolder scratch_;
  int pid_ = 0;
};

/// `arguments` after the program's name, from the source directory, with `input` on standard input.
RunResult run_binary(const std::vector<std::string>& arguments, const std::string& input = "");

/// The paths scenarios/examples/*.yaml, relative to the source directory, sorted.
std::vector<std::string> example_files();

std::string read_file(const std::string& path);
void write_text(const std::string& path, const std::string& text);

}  // namespace scenarios
