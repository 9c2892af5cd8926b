#include "scenarios/fit/catalog_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "scenarios/load/diagnostics.h"

namespace scenarios {
namespace {

/// Where the number stands in the text.
struct Spot {
  std::size_t begin = 0, length = 0;
  double value = 0;
};

/// "80 us", "0.6  # comment" -> 80, 0.6, when what follows the number is `unit`.
std::optional<Spot> number_in(std::string_view value, std::size_t begin, std::string_view unit) {
  value = value.substr(0, value.find(" #"));
  Spot spot{.begin = begin};
  const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), spot.value);
  if (status != std::errc()) return std::nullopt;
  spot.length = static_cast<std::size_t>(end - value.data());
  const std::string expected = unit.empty() ? "" : " " + std::string(unit);
  std::string_view rest = value.substr(spot.length);
  while (!rest.empty() && (rest.back() == ' ' || rest.back() == '\r')) rest.remove_suffix(1);
  return rest == expected ? std::optional(spot) : std::nullopt;
}

std::optional<Spot> spot_of(const std::string& text, std::string_view key, std::string_view unit) {
  const std::size_t dot = key.find('.');
  const std::string section = dot == std::string_view::npos ? "" : std::string(key.substr(0, dot)) + ":";
  const std::string start = (section.empty() ? "" : "  ") + std::string(key.substr(section.size())) + ": ";
  bool inside = section.empty();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (!section.empty() && !line.empty() && line.front() != ' ') inside = line.starts_with(section);
    if (inside && line.starts_with(start)) {
      return number_in(line.substr(start.size()), begin + start.size(), unit);
    }
    begin = end + 1;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> read_figure(const std::string& text, std::string_view key, std::string_view unit) {
  const std::optional<Spot> spot = spot_of(text, key, unit);
  return spot ? std::optional(spot->value) : std::nullopt;
}

std::string write_figure(const std::string& text, std::string_view key, std::string_view unit, double value) {
  const std::optional<Spot> spot = spot_of(text, key, unit);
  if (!spot) throw InputError(fmt::format("error: no line '{}: NUMBER {}' to write to\n", key, unit));
  std::string result = text;
  return result.replace(spot->begin, spot->length, fmt::format("{:.9g}", value));
}

}  // namespace scenarios
