// Runs the real program `trainyard`, as a user does.
#pragma once

#include <string>
#include <vector>

namespace scenarios {

struct RunResult {
  int exit_code = -1;  ///< -1: ended by a signal
  std::string output, error;
};

/// `arguments` after the program's name, from the source directory, with `input` on standard input.
RunResult run_binary(const std::vector<std::string>& arguments, const std::string& input = "");

/// The paths scenarios/examples/*.yaml, relative to the source directory, sorted.
std::vector<std::string> example_files();

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

std::string read_file(const std::string& path);
void write_text(const std::string& path, const std::string& text);

}  // namespace scenarios
