#include "tests/repo/source_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>

namespace repo {
namespace {

struct FolderRule {
  std::string_view folder;
  std::vector<std::string_view> may_include;
};

// Arrows point down only; sim and executor never see each other.
const std::vector<FolderRule>& folder_rules() {
  static const std::vector<FolderRule> rules = {
      {"hw_models", {"hw_models"}},
      {"strategies", {"strategies", "hw_models"}},
      {"sim", {"sim", "strategies", "hw_models"}},
      {"executor", {"executor", "strategies", "hw_models"}},
      {"scenarios", {"scenarios", "sim", "executor", "strategies", "hw_models"}},
      {"tests", {"tests", "scenarios", "sim", "executor", "strategies", "hw_models"}},
  };
  return rules;
}

/// A library that only paths starting with one of `places` may include.
struct LibraryRule {
  std::string_view include_prefix;
  std::vector<std::string_view> places;
};

const std::vector<LibraryRule>& library_rules() {
  static const std::vector<LibraryRule> rules = {
      {"boost/graph/", {"hw_models/cluster.cpp"}},
      {"yaml-cpp/", {"scenarios/load/yaml_document.cpp"}},
      {"nlohmann/", {"scenarios/", "tests/scenarios/"}},
  };
  return rules;
}

// Tests of the whole program or of the repository have no single file that they mirror.
constexpr std::string_view kUnmirrored[] = {"tests/repo/",
                                            "tests/golden/",
                                            "tests/fuzz/",
                                            "tests/bench/",
                                            "tests/scenarios/cli/",
                                            "tests/executor/whole_model_test.cpp",
                                            "tests/sim/expert_imbalance_test.cpp",
                                            "tests/sim/schedule_oracles_test.cpp",
                                            "tests/scenarios/examples_test.cpp",
                                            "tests/scenarios/wire_bytes_test.cpp"};

// clang 14 (clang-tidy, fuzz targets) rejects every class derived from view_interface of libstdc++ 12: views, and the
// subrange that these algorithms return.
constexpr std::string_view kViews[] = {
    "std::views::",          "std::ranges::subrange",        "std::ranges::equal_range", "std::ranges::remove",
    "std::ranges::unique(",  "std::ranges::partition(",      "std::ranges::rotate(",     "std::ranges::search",
    "std::ranges::find_end", "std::ranges::stable_partition"};

bool is_header(std::string_view path) { return path.ends_with(".h"); }

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::string_view top_folder(std::string_view path) { return path.substr(0, path.find('/')); }

struct Include {
  std::string_view path;
  bool quoted = false;
};

/// The path of an #include line, empty for any other line.
Include parse_include(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with('#')) return {};
  line = trimmed(line.substr(1));
  constexpr std::string_view kWord = "include";
  if (!line.starts_with(kWord)) return {};
  line = trimmed(line.substr(kWord.size()));
  if (line.empty()) return {};
  const bool quoted = line.front() == '"';
  const auto end = line.find(quoted ? '"' : '>', 1);
  if ((!quoted && line.front() != '<') || end == std::string_view::npos) return {};
  return {line.substr(1, end - 1), quoted};
}

class Rules {
 public:
  explicit Rules(const std::vector<SourceFile>& files) : files_(files) {
    for (const SourceFile& file : files) paths_.insert(file.path);
  }

  std::vector<std::string> check() {
    for (const SourceFile& file : files_) {
      check_length(file);
      check_mirror(file);
      if (is_header(file.path)) check_header(file);
      for (std::size_t i = 0; i < file.lines.size(); ++i) {
        check_include(file, i + 1, parse_include(file.lines[i]));
        check_views(file, i + 1, file.lines[i]);
      }
    }
    return std::move(found_);
  }

 private:
  void add(const SourceFile& file, std::size_t line, std::string_view reason) {
    found_.push_back(fmt::format("{}:{}: {}", file.path, line, reason));
  }

  void check_length(const SourceFile& file) {
    if (file.lines.size() > kMaxLines) {
      add(file, kMaxLines + 1, fmt::format("the file has {} lines; at most {}", file.lines.size(), kMaxLines));
    }
  }

  void check_header(const SourceFile& file) {
    bool once = false;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string_view line = trimmed(file.lines[i]);
      once = once || line == "#pragma once";
      if (line.starts_with("using namespace ")) add(file, i + 1, "a header must not hold 'using namespace'");
      if (parse_include(line).path == "iostream") add(file, i + 1, "a header must not include <iostream>");
    }
    if (!once) add(file, 1, "a header needs '#pragma once'");
  }

  void check_include(const SourceFile& file, std::size_t line, const Include& include) {
    if (include.path.empty()) return;
    for (const LibraryRule& rule : library_rules()) {
      const auto here = [&](std::string_view place) { return file.path.starts_with(place); };
      if (include.path.starts_with(rule.include_prefix) && std::ranges::none_of(rule.places, here)) {
        add(file, line, fmt::format("only {} may include {}", fmt::join(rule.places, ", "), include.path));
      }
    }
    const std::string_view from = top_folder(file.path), to = top_folder(include.path);
    const bool ours = std::ranges::any_of(folder_rules(), [&](const FolderRule& rule) { return rule.folder == to; });
    if (!ours) {
      if (include.quoted) add(file, line, fmt::format("write '{}' as a path from the project's root", include.path));
      return;
    }
    for (const FolderRule& rule : folder_rules()) {
      if (rule.folder == from && std::ranges::find(rule.may_include, to) == rule.may_include.end()) {
        add(file, line, fmt::format("{} must not include {}", from, include.path));
      }
    }
  }

  void check_views(const SourceFile& file, std::size_t line, std::string_view text) {
    if (file.path.starts_with("tests/repo/")) return;  // the rules and their examples
    for (const std::string_view view : kViews) {
      if (text.find(view) != std::string_view::npos) {
        add(file, line, fmt::format("clang 14 cannot compile {}; use the iterator algorithm", view));
      }
    }
  }

  void check_mirror(const SourceFile& file) {
    constexpr std::string_view kTests = "tests/", kSuffix = "_test.cpp";
    const std::string_view path = file.path;
    if (!path.starts_with(kTests) || !path.ends_with(kSuffix)) return;
    for (const std::string_view folder : kUnmirrored) {
      if (path.starts_with(folder)) return;
    }
    const std::string stem(path.substr(kTests.size(), path.size() - kTests.size() - kSuffix.size()));
    if (!paths_.contains(stem + ".h") && !paths_.contains(stem + ".cpp")) {
      add(file, 1, fmt::format("there is no {}.h or {}.cpp for this test", stem, stem));
    }
  }

  const std::vector<SourceFile>& files_;
  std::set<std::string> paths_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<SourceFile> read_sources(const std::string& root) {
  namespace fs = std::filesystem;
  std::vector<SourceFile> files;
  for (const FolderRule& rule : folder_rules()) {
    const fs::path folder = fs::path(root) / rule.folder;
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const auto extension = entry.path().extension();
      if (!entry.is_regular_file() || (extension != ".h" && extension != ".cpp")) continue;
      SourceFile file{fs::relative(entry.path(), root).generic_string(), {}};
      std::ifstream stream(entry.path());
      for (std::string line; std::getline(stream, line);) file.lines.push_back(line);
      files.push_back(std::move(file));
    }
  }
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

std::vector<std::string> breaches(const std::vector<SourceFile>& files) { return Rules(files).check(); }

}  // namespace repo
