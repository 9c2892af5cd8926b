// The command line: finds the verb and turns what it throws into messages and exit codes.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "scenarios/cli/verb.h"
#include "scenarios/load/diagnostics.h"

namespace {

constexpr int kInternalError = 3;

std::string usage() {
  std::string text =
      "usage: trainyard VERB [SCENARIO] [options]\n\n"
      "Predicts how a model trains on a cluster, before the cluster is bought.\n\n";
  for (const scenarios::Verb& verb : scenarios::verbs()) text += fmt::format("  {:<11} {}\n", verb.name, verb.summary);
  return text +
         "\n`trainyard VERB --help` tells more. Exit codes: 0 yes, 1 a negative answer, 2 bad input, 3 internal "
         "error.\n";
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    fmt::print(stderr, "{}", usage());
    return scenarios::kBadInput;
  }
  const std::string& word = arguments.front();
  if (word == "--help" || word == "-h" || word == "help") {
    fmt::print("{}", usage());
    return 0;
  }
  if (word == "--version") {
    fmt::print("trainyard {}\n", TRAINYARD_VERSION);
    return 0;
  }
  const auto verbs = scenarios::verbs();
  const auto verb = std::ranges::find(verbs, word, &scenarios::Verb::name);
  if (verb != verbs.end()) return verb->run({arguments.begin() + 1, arguments.end()});
  std::vector<std::string> names;
  for (const scenarios::Verb& known : verbs) names.emplace_back(known.name);
  const auto near = scenarios::nearest(word, names);
  throw scenarios::InputError(fmt::format("error: unknown verb '{}'\n  {}\n", word,
                                          near ? "did you mean '" + *near + "'?" : "see trainyard --help"));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const scenarios::InputError& error) {
    fmt::print(stderr, "{}", error.what());
    return scenarios::kBadInput;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: out of memory: the scenario is too large for this machine\n");
    return kInternalError;
  } catch (const std::exception& error) {
    fmt::print(stderr, "internal error: {}\nPlease report it with the scenario that caused it.\n", error.what());
    return kInternalError;
  }
}
