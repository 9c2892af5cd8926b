// A verb of the command line: `trainyard VERB ...`. A new verb is one file and one line in verbs.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scenarios {

struct Verb {
  std::string_view name, summary;
  /// Arguments after the verb. Returns the exit code: 0 yes, 1 a negative answer, 2 bad input or usage. Throws
  /// InputError for bad input; main prints it. `--help` is handled by the verb and returns 0.
  int (*run)(const std::vector<std::string>& arguments);
};

std::span<const Verb> verbs();

}  // namespace scenarios
