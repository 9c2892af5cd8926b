#include "scenarios/load/json_text.h"

#include <algorithm>

namespace scenarios {
namespace {

/// Offset after the string that opens at `quote`.
std::size_t string_end(std::string_view text, std::size_t quote) {
  std::size_t i = quote + 1;
  while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

std::size_t skip_blanks(std::string_view text, std::size_t i) {
  while (i < text.size() && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r')) ++i;
  return i;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool opens(char c) { return c == '{' || c == '['; }
bool closes(char c) { return c == '}' || c == ']'; }

}  // namespace

Place place_of_byte(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line_start = before.rfind('\n');
  const std::size_t column = line_start == std::string_view::npos ? before.size() : before.size() - line_start - 1;
  Place place;
  place.line = static_cast<int>(std::ranges::count(before, '\n')) + 1;
  place.column = static_cast<int>(column) + 1;
  return place;
}

std::optional<std::size_t> nested_deeper_than(std::string_view text, int limit) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      i = string_end(text, i);
      continue;
    }
    if (opens(text[i]) && ++depth > limit) return i;
    if (closes(text[i])) --depth;
    ++i;
  }
  return std::nullopt;
}

std::string with_python_numbers_as_null(std::string_view text) {
  std::string strict(text);
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      i = string_end(text, i);
      continue;
    }
    std::size_t length = 0;
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
      if (length == 0 && text.substr(i).starts_with(word)) length = word.size();
    }
    const bool isolated = length > 0 && (i + length == text.size() || !is_letter(text[i + length]));
    if (isolated) strict.replace(i, length, length == 3 ? "0.0" : "null" + std::string(length - 4, ' '));
    i += isolated ? length : 1;
  }
  return strict;
}

std::optional<KeyOffsets> find_json_key(std::string_view text, std::size_t object, std::string_view key) {
  std::optional<KeyOffsets> found;
  int depth = 0;
  for (std::size_t i = object; i < text.size();) {
    if (text[i] == '"') {
      const std::size_t end = string_end(text, i);
      const std::size_t colon = skip_blanks(text, end);
      const bool is_key = depth == 1 && colon < text.size() && text[colon] == ':';
      if (is_key && text.substr(i + 1, end - i - 2) == key) found = {i, skip_blanks(text, colon + 1)};
      i = end;
      continue;
    }
    if (opens(text[i])) ++depth;
    if (closes(text[i]) && --depth == 0) break;
    ++i;
  }
  return found;
}

}  // namespace scenarios
