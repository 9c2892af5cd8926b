// MapReader: the typed, checked view of one map.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "scenarios/load/yaml_document.h"

namespace scenarios {

namespace {

std::string child_path(const std::string& parent, std::string_view key) {
  return parent.empty() ? std::string(key) : fmt::format("{}.{}", parent, key);
}

}  // namespace

struct MapReader::State {
  Value map;
  Diagnostics& diagnostics;
  std::vector<Value::Entry> entries;
  std::set<std::string, std::less<>> known;

  const Value::Entry* find(std::string_view key) const {
    const auto entry = std::ranges::find(entries, key, &Value::Entry::key);
    return entry == entries.end() ? nullptr : &*entry;
  }
};

MapReader::MapReader(const Value& map, Diagnostics& diagnostics)
    : state_(std::make_unique<State>(State{map, diagnostics, map.entries(), {}})) {
  if (map.kind() == Value::Kind::kMap) return;
  const std::string what = map.path().empty() ? "the document" : "'" + map.path() + "'";
  diagnostics.error(map.place(), what + " must be a map of keys and values", "write key: value");
}

MapReader::~MapReader() = default;

bool MapReader::has(std::string_view key) const { return state_->find(key) != nullptr; }

Place MapReader::place() const { return state_->map.place(); }

Place MapReader::place(std::string_view key) const {
  const Value::Entry* entry = state_->find(key);
  return entry == nullptr ? place() : entry->value.place();
}

std::optional<Value> MapReader::value(std::string_view key) {
  state_->known.emplace(key);
  state_->diagnostics.note_known(child_path(state_->map.path(), key));
  const Value::Entry* entry = state_->find(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->value.kind() == Value::Kind::kNull) {
    state_->diagnostics.error(entry->place, fmt::format("'{}' has no value", key));
    return std::nullopt;
  }
  return entry->value;
}

std::optional<std::string> MapReader::text(std::string_view key) {
  const std::optional<Value> found = value(key);
  if (!found) return std::nullopt;
  if (found->kind() == Value::Kind::kScalar) return found->text();
  state_->diagnostics.error(found->place(), fmt::format("'{}' must be a word, not a {}", key,
                                                        found->kind() == Value::Kind::kList ? "list" : "map"));
  return std::nullopt;
}

std::optional<bool> MapReader::boolean(std::string_view key) {
  const std::optional<std::string> word = text(key);
  if (!word) return std::nullopt;
  if (*word == "true" || *word == "false") return *word == "true";
  state_->diagnostics.error(place(key), fmt::format("'{}' must be true or false, not '{}'", key, shortened(*word)));
  return std::nullopt;
}

namespace {

/// "use 1 to 8", "use 1 or more".
std::string range_advice(const std::string& minimum, const std::string& maximum, bool bounded) {
  return bounded ? fmt::format("use {} to {}", minimum, maximum) : fmt::format("use {} or more", minimum);
}

std::optional<std::int64_t> read_integer(std::string_view key, const Value& value, std::int64_t minimum,
                                         std::int64_t maximum, Diagnostics& diagnostics) {
  const std::string& text = value.text();
  std::int64_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = value.kind() == Value::Kind::kScalar && !value.quoted() && end == text.data() + text.size();
  if (!whole || status == std::errc::invalid_argument) {
    const std::string found = value.kind() == Value::Kind::kList  ? "a list"
                              : value.kind() == Value::Kind::kMap ? "a map"
                                                                  : fmt::format("'{}'", shortened(text));
    diagnostics.error(value.place(), fmt::format("'{}' must be a whole number, not {}", key, found),
                      value.quoted() ? "remove the quotes" : "");
    return std::nullopt;
  }
  if (status == std::errc() && number >= minimum && number <= maximum) return number;
  diagnostics.error(value.place(), fmt::format("'{}: {}' is out of range", key, shortened(text)),
                    range_advice(std::to_string(minimum), std::to_string(maximum),
                                 maximum < std::numeric_limits<std::int64_t>::max()));
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> MapReader::integer(std::string_view key, std::int64_t minimum, std::int64_t maximum) {
  const std::optional<Value> found = value(key);
  return found ? read_integer(key, *found, minimum, maximum, state_->diagnostics) : std::nullopt;
}

std::optional<std::vector<std::int64_t>> MapReader::integers(std::string_view key, std::int64_t minimum,
                                                             std::int64_t maximum) {
  const std::optional<Value> found = value(key);
  if (!found) return std::nullopt;
  if (found->kind() != Value::Kind::kList) {
    state_->diagnostics.error(found->place(), fmt::format("'{}' must be a list of whole numbers", key),
                              "write [1, 2, 3]");
    return std::nullopt;
  }
  std::vector<std::int64_t> result;
  const std::vector<Value> items = found->items();
  for (const Value& item : items) {
    if (const auto number = read_integer(key, item, minimum, maximum, state_->diagnostics)) result.push_back(*number);
  }
  return result.size() == items.size() ? std::optional(result) : std::nullopt;
}

namespace {

/// `value` is a scalar.
std::optional<double> read_number(std::string_view key, const Value& value, double minimum, double maximum,
                                  Diagnostics& diagnostics) {
  const std::string& word = value.text();
  double number = 0;
  const char* last = word.data() + word.size();
  const auto [end, status] = std::from_chars(word.data(), last, number);
  const bool quoted = value.quoted();
  if (status == std::errc::invalid_argument || end != last || quoted || !std::isfinite(number)) {
    diagnostics.error(value.place(), fmt::format("'{}' must be a number, not '{}'", key, shortened(word)),
                      quoted ? "remove the quotes" : "");
    return std::nullopt;
  }
  if (status == std::errc() && number >= minimum && number <= maximum) return number;
  diagnostics.error(value.place(), fmt::format("'{}: {}' is out of range", key, shortened(word)),
                    range_advice(fmt::format("{:g}", minimum), fmt::format("{:g}", maximum), std::isfinite(maximum)));
  return std::nullopt;
}

}  // namespace

std::optional<double> MapReader::number(std::string_view key, double minimum, double maximum) {
  if (!text(key)) return std::nullopt;
  return read_number(key, state_->find(key)->value, minimum, maximum, state_->diagnostics);
}

std::optional<std::vector<double>> MapReader::numbers(std::string_view key, double minimum, double maximum) {
  const std::optional<Value> found = value(key);
  if (!found) return std::nullopt;
  const bool list = found->kind() == Value::Kind::kList;
  const std::vector<Value> items = list ? found->items() : std::vector<Value>{};
  std::vector<double> result;
  for (const Value& item : items) {
    if (item.kind() != Value::Kind::kScalar) break;
    if (const auto number = read_number(key, item, minimum, maximum, state_->diagnostics)) {
      result.push_back(*number);
    } else {
      return std::nullopt;
    }
  }
  if (!items.empty() && result.size() == items.size()) return result;
  state_->diagnostics.error(found->place(), fmt::format("'{}' must be a list of numbers", key), "write [1, 2.5, 3]");
  return std::nullopt;
}

std::optional<double> MapReader::quantity(std::string_view key, QuantityKind kind, double minimum, double maximum) {
  const std::optional<std::string> word = text(key);
  if (!word) return std::nullopt;
  const ParsedQuantity parsed = parse_quantity(kind, *word);
  if (!parsed.error.empty()) {
    state_->diagnostics.error(place(key), fmt::format("'{}' must be {}, but {}", key, noun(kind), parsed.error),
                              parsed.advice);
    return std::nullopt;
  }
  if (parsed.value >= minimum && parsed.value <= maximum) return parsed.value;
  state_->diagnostics.error(
      place(key), fmt::format("'{}: {}' is out of range", key, shortened(*word)),
      range_advice(print_quantity(kind, minimum), print_quantity(kind, maximum), std::isfinite(maximum)));
  return std::nullopt;
}

void MapReader::missing(std::string_view key, const std::string& advice) {
  state_->diagnostics.error(place(), fmt::format("'{}' is missing", child_path(state_->map.path(), key)), advice);
}

void MapReader::finish() {
  const std::vector<std::string> known(state_->known.begin(), state_->known.end());
  // A known key in the wrong map ("zero" beside "plan"): readers of the maps below have already named theirs.
  const auto elsewhere = [this](const std::string& key) {
    const std::set<std::string>& paths = state_->diagnostics.known();
    const auto path = std::ranges::find_if(paths, [&key](const std::string& p) { return p.ends_with("." + key); });
    return path == paths.end() ? std::nullopt : std::optional(*path);
  };
  for (const Value::Entry& entry : state_->entries) {
    if (state_->known.contains(entry.key)) continue;
    std::optional<std::string> near = nearest(entry.key, known);
    if (!near) near = elsewhere(entry.key);
    state_->diagnostics.error(
        entry.place, fmt::format("unknown key '{}'", shortened(entry.key)),
        near ? fmt::format("did you mean '{}'?", *near) : fmt::format("known here: {}", fmt::join(known, ", ")));
  }
}

Diagnostics& MapReader::diagnostics() { return state_->diagnostics; }

std::optional<std::size_t> MapReader::word_index(std::string_view key, const std::vector<std::string>& words) {
  const std::optional<std::string> word = text(key);
  if (!word) return std::nullopt;
  const auto found = std::ranges::find(words, *word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  const std::optional<std::string> near = nearest(*word, words);
  const std::string choices = fmt::format("use {}", fmt::join(words, ", "));
  state_->diagnostics.error(place(key), fmt::format("'{}: {}' is not known", key, shortened(*word)),
                            near ? fmt::format("did you mean '{}'? ({})", *near, choices) : choices);
  return std::nullopt;
}

}  // namespace scenarios
