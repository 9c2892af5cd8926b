// Findings in the user's input, all at once, each with its place and the way out.
//
//   scenario.yaml:14:22: error: 'tensor: 6' does not divide the model's 64 attention heads
//      14 |   plan: {tensor: 6, pipeline: 4}
//         |                  ^ use 1, 2, 4 or 8
#pragma once

#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace scenarios {

struct Place {
  int line = 0, column = 0;  ///< 1-based, column in bytes; 0 = unknown
  int override_number = 0;   ///< from Diagnostics::add_override; 0 = in the file
};

struct Finding {
  bool warning = false;
  Place place;
  std::string message;  ///< one sentence, no full stop
  std::string advice;   ///< printed after the caret; may be empty
};

/// Collects the findings of one document and prints them with the offending lines.
class Diagnostics {
 public:
  Diagnostics(std::string file, std::string_view text);
  void error(Place place, const std::string& message, const std::string& advice = "");
  void warning(Place place, const std::string& message, const std::string& advice = "");
  /// Announces `text` ("--set plan.tensor=6"); places with the returned number are printed as this text.
  int add_override(const std::string& text);
  bool has_errors() const;
  const std::vector<Finding>& findings() const { return findings_; }
  /// All findings in order of place, errors and warnings, as text ending in a newline ("" when there are none).
  std::string print() const;
  /// One line per warning, without the source line, for JSON.
  std::vector<std::string> warnings() const;
  const std::string& file() const { return file_; }

  /// The paths that readers asked for, present or not: what the loader knows. Checked against docs/scenario.md.
  void note_known(const std::string& path) { known_.insert(path); }
  const std::set<std::string>& known() const { return known_; }

 private:
  std::string print(const Finding& finding) const;

  std::string file_;
  std::vector<std::string> overrides_;
  std::set<std::string> known_;
  std::vector<std::string> lines_;
  std::vector<Finding> findings_;
};

inline constexpr int kBadInput = 2;  ///< exit code

/// Bad input: what() is the whole printed text.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The nearest of `candidates` to `word` by edit distance, when near enough to be a typo.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

/// At most `limit` bytes of `text`, whole UTF-8 characters, with "..." when something was cut.
std::string shortened(std::string_view text, std::size_t limit = 40);

}  // namespace scenarios
