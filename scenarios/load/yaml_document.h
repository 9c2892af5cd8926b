// A YAML document as values with places, and a reader of maps that forgets nothing: unknown and duplicate keys,
// wrong types, units and ranges all become findings. yaml-cpp is seen by yaml_document.cpp only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/load/diagnostics.h"
#include "scenarios/load/quantity.h"

namespace scenarios {

/// One value of a document. Cheap to copy; shares the parsed tree.
class Value {
 public:
  enum class Kind : std::uint8_t { kNull, kScalar, kList, kMap };

  Kind kind() const;
  Place place() const;
  /// "plan.tensor", "candidates[2].nodes"; "" for the root.
  const std::string& path() const;
  const std::string& text() const;   ///< of a scalar
  bool quoted() const;               ///< scalar written in quotes
  std::vector<Value> items() const;  ///< of a list
  /// Keys in order of the file, duplicates included; each key with its own place.
  struct Entry;
  std::vector<Entry> entries() const;

  struct Node;
  explicit Value(std::shared_ptr<const Node> node);

 private:
  std::shared_ptr<const Node> node_;
};

struct Value::Entry {
  std::string key;
  Place place;
  Value value;
};

/// Parses `text`; syntax errors become a finding and nullopt. Bounded: anchors/aliases are refused, nesting and size
/// are limited, so that no input makes the loader loop or blow up.
std::optional<Value> parse_yaml(std::string_view text, Diagnostics& diagnostics);

/// Lays "a.b.c = value" (value parsed as YAML) over the document; creates missing maps. A bad path is a finding.
Value with_override(const Value& root, std::string_view path, std::string_view value, Diagnostics& diagnostics);

/// `base` with the keys of `over` laid over it, maps within maps likewise. What comes from `base`, a document of its
/// own, gets `base_place` as its place and paths below `over`'s.
Value merged(const Value& base, const Value& over, Place base_place);

/// `map` without `key`.
Value without(const Value& map, std::string_view key);

/// `map` with `value` in the place of `key`'s value.
Value replaced(const Value& map, std::string_view key, const Value& value);

/// Reads one map. Every getter marks its key as known; `finish` reports the rest with a suggestion. A getter returns
/// nullopt both when the key is absent and when its value has a defect (then a finding was recorded).
class MapReader {
 public:
  /// A value that is not a map is a finding; the reader is then empty.
  MapReader(const Value& map, Diagnostics& diagnostics);
  ~MapReader();

  bool has(std::string_view key) const;
  Place place() const;
  /// Place of the key's value, or of the map when absent.
  Place place(std::string_view key) const;
  std::optional<Value> value(std::string_view key);
  std::optional<std::string> text(std::string_view key);
  std::optional<bool> boolean(std::string_view key);  ///< true or false only
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t minimum, std::int64_t maximum);
  std::optional<double> number(std::string_view key, double minimum, double maximum);
  std::optional<double> quantity(std::string_view key, QuantityKind kind, double minimum, double maximum);
  std::optional<std::vector<std::int64_t>> integers(std::string_view key, std::int64_t minimum, std::int64_t maximum);
  std::optional<std::vector<double>> numbers(std::string_view key, double minimum, double maximum);  ///< not empty
  /// The value of one of the words; a finding lists them and names the nearest.
  template <class T>
  std::optional<T> one_of(std::string_view key, const std::vector<std::pair<std::string, T>>& words) {
    std::vector<std::string> names;
    for (const auto& [word, unused] : words) names.push_back(word);
    const std::optional<std::size_t> index = word_index(key, names);
    return index ? std::optional<T>(words[*index].second) : std::nullopt;
  }
  /// Reports `key` as missing at the map's place.
  void missing(std::string_view key, const std::string& advice);
  /// Unknown keys become errors with the nearest known key; call once, after all getters.
  void finish();

  Diagnostics& diagnostics();

 private:
  std::optional<std::size_t> word_index(std::string_view key, const std::vector<std::string>& words);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scenarios
