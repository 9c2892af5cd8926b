#include "scenarios/load/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "scenarios/load/utf8.h"

namespace scenarios {
namespace {

constexpr std::size_t kColumns = 120;       // of a printed source line, gutter excluded
constexpr std::size_t kMessageLimit = 400;  // bytes of a message; longer ones only repeat huge input
constexpr std::size_t kPrintedFindings = 50;

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::string limited(std::string_view text) { return printable(shortened(text, kMessageLimit)); }

/// Part of a line that is printed, and the blanks that lead to the caret below it.
struct Excerpt {
  std::string text, indent;
};

Excerpt excerpt(std::string_view line, std::size_t caret) {
  std::size_t first = 0;
  std::size_t last = line.size();
  if (line.size() > kColumns) {
    first = caret > kColumns / 2 ? std::min(caret - kColumns / 2, line.size() - kColumns) : 0;
    last = first + kColumns;
    while (first > 0 && continues_character(line[first])) --first;
    while (last < line.size() && continues_character(line[last])) ++last;
  }
  Excerpt result;
  if (first > 0) result = {"...", "   "};
  result.text += printable(line.substr(first, last - first));
  if (last < line.size()) result.text += "...";
  for (std::size_t i = first; i < caret; ++i) {
    if (i >= line.size() || !continues_character(line[i]))
      result.indent += i < line.size() && line[i] == '\t' ? '\t' : ' ';
  }
  return result;
}

/// Characters up to and including the 1-based byte column.
std::size_t character_column(std::string_view line, std::size_t byte_column) {
  const std::string_view before = line.substr(0, std::min(byte_column - 1, line.size()));
  const auto continuing = static_cast<std::size_t>(std::ranges::count_if(before, continues_character));
  return byte_column - continuing;
}

}  // namespace

Diagnostics::Diagnostics(std::string file, std::string_view text) : file_(std::move(file)) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines_.emplace_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

void Diagnostics::error(Place place, const std::string& message, const std::string& advice) {
  findings_.push_back({false, place, limited(message), limited(advice)});
}

void Diagnostics::warning(Place place, const std::string& message, const std::string& advice) {
  findings_.push_back({true, place, limited(message), limited(advice)});
}

int Diagnostics::add_override(const std::string& text) {
  overrides_.push_back(limited(text));
  return static_cast<int>(overrides_.size());
}

bool Diagnostics::has_errors() const {
  return std::ranges::any_of(findings_, [](const Finding& finding) { return !finding.warning; });
}

std::string Diagnostics::print(const Finding& finding) const {
  const Place place = finding.place;
  const std::string_view severity = finding.warning ? "warning" : "error";
  if (place.override_number > 0 || place.line <= 0) {
    const std::string& origin =
        place.override_number > 0 ? overrides_.at(static_cast<std::size_t>(place.override_number) - 1) : file_;
    return fmt::format("{}: {}: {}{}{}\n", origin, severity, finding.message, finding.advice.empty() ? "" : "; ",
                       finding.advice);
  }
  const auto column = static_cast<std::size_t>(std::max(place.column, 1));
  const auto index = static_cast<std::size_t>(place.line) - 1;
  const std::string_view line = index < lines_.size() ? std::string_view(lines_[index]) : std::string_view();
  std::string text =
      fmt::format("{}:{}:{}: {}: {}\n", file_, place.line, character_column(line, column), severity, finding.message);
  const Excerpt shown = excerpt(line, std::min(column - 1, line.size()));
  text += fmt::format("{:>5} | {}\n", place.line, shown.text);
  text += fmt::format("      | {}^{}{}\n", shown.indent, finding.advice.empty() ? "" : " ", finding.advice);
  return text;
}

std::string Diagnostics::print() const {
  std::vector<const Finding*> order;
  for (const Finding& finding : findings_) order.push_back(&finding);
  std::ranges::stable_sort(order, {}, [](const Finding* finding) {
    return std::tuple(finding->place.override_number, finding->place.line, finding->place.column);
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(order.size(), kPrintedFindings); ++i) text += print(*order[i]);
  if (order.size() > kPrintedFindings) text += fmt::format("{}: {} more\n", file_, order.size() - kPrintedFindings);
  return text;
}

std::vector<std::string> Diagnostics::warnings() const {
  std::vector<std::string> result;
  for (const Finding& finding : findings_) {
    if (!finding.warning) continue;
    result.push_back(finding.advice.empty() ? finding.message : finding.message + "; " + finding.advice);
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t limit) {
  std::size_t size = std::min(text.size(), limit);
  while (size > 0 && size < text.size() && continues_character(text[size])) --size;
  return std::string(text.substr(0, size)) + (size < text.size() ? "..." : "");
}

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Optimal string alignment: insertions, deletions, replacements and swaps of neighbours cost 1; case is free.
std::size_t edits(std::string_view word, std::string_view other) {
  std::vector<std::vector<std::size_t>> distance(word.size() + 1, std::vector<std::size_t>(other.size() + 1));
  const auto same = [&](std::size_t i, std::size_t j) { return lower(word[i]) == lower(other[j]); };
  for (std::size_t i = 0; i <= word.size(); ++i) {
    for (std::size_t j = 0; j <= other.size(); ++j) {
      if (i == 0 || j == 0) {
        distance[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = distance[i - 1][j - 1] + (same(i - 1, j - 1) ? 0 : 1);
      distance[i][j] = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1);
      if (swapped) distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
    }
  }
  return distance[word.size()][other.size()];
}

/// "h100" stands for "h100-sxm-80gb": the shortest candidate that goes on after the word.
std::optional<std::string> completed(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kShortest = 3;
  std::optional<std::string> result;
  if (word.size() < kShortest) return result;
  for (const std::string& candidate : candidates) {
    const bool longer = candidate.size() > word.size();
    if (!longer || !std::ranges::equal(word, candidate.substr(0, word.size()), {}, lower, lower)) continue;
    if (!result || candidate.size() < result->size()) result = candidate;
  }
  return result;
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 64;
  if (word.empty() || word.size() > kLongest) return std::nullopt;
  if (std::optional<std::string> whole = completed(word, candidates)) return whole;
  std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
  std::optional<std::string> result;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const std::size_t distance = edits(word, candidate);
    if (distance >= best) continue;
    best = distance;
    result = candidate;
  }
  return result;
}

}  // namespace scenarios
