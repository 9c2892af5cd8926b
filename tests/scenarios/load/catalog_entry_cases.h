// Shared by the tests of the catalogue loaders: a good map with one line changed, and what the finding must say.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/load/load_catalog.h"

namespace scenarios {

/// `line` replaces the line of `good` with the same key, or is added; an empty value removes the key.
struct BadLine {
  std::string key, line;
  std::string message;  ///< part of the finding
};

inline std::string changed(const std::string& good, const BadLine& bad) {
  std::string text;
  for (std::size_t begin = 0; begin < good.size();) {
    const std::size_t end = good.find('\n', begin) + 1;
    if (good.compare(begin, bad.key.size() + 1, bad.key + ":") != 0) text += good.substr(begin, end - begin);
    begin = end;
  }
  return bad.line.empty() ? text : text + bad.line + "\n";
}

template <class Spec>
using Loader = std::optional<Spec> (*)(const Value&, const std::string&, Diagnostics&);

template <class Spec>
std::optional<Spec> load_text(Loader<Spec> loader, const std::string& text, std::string& findings) {
  Diagnostics diagnostics("entry.yaml", text);
  const std::optional<Value> root = parse_yaml(text, diagnostics);
  std::optional<Spec> spec = root ? loader(*root, "entry", diagnostics) : std::nullopt;
  findings = diagnostics.print();
  return spec;
}

/// Each bad line alone yields nothing and exactly one error that contains its message.
template <class Spec>
void expect_findings(Loader<Spec> loader, const std::string& good, const std::vector<BadLine>& cases) {
  for (const BadLine& bad : cases) {
    SCOPED_TRACE(bad.key + " -> " + bad.line);
    std::string findings;
    EXPECT_FALSE(load_text(loader, changed(good, bad), findings).has_value());
    EXPECT_NE(findings.find(bad.message), std::string::npos) << findings;
    EXPECT_EQ(findings.find("error:", findings.find("error:") + 1), std::string::npos) << findings;
  }
}

}  // namespace scenarios
