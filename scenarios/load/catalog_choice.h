// A value that is either a catalogue name or a map, perhaps one that starts from a catalogue entry (`base`).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "scenarios/load/sections.h"

namespace scenarios {

/// A map ready to be read: `base`, when there is one, is already laid under it.
struct CompletedMap {
  Value map;
  std::string name;
};

/// The catalogue entry that a map starts from.
struct Base {
  std::optional<Value> map;  ///< nullopt: the map describes everything itself
  std::string name = "custom";
  Place place;  ///< where the scenario names it
};

/// As below. nullopt after a finding.
std::optional<Base> read_base(const Value& map, std::string_view kind, const std::string& default_base,
                              Reading& reading);

/// `default_base`: used when the map has no `base` of its own; empty = none. nullopt after a finding.
std::optional<CompletedMap> complete_map(const Value& map, std::string_view kind, const std::string& default_base,
                                         Reading& reading);

void report_unknown_name(const Value& value, std::string_view kind, Reading& reading);

/// `find` and `load` are Catalog's and load_catalog.h's functions for `kind`.
template <class Spec, class Find, class Load>
std::optional<Spec> read_choice(const Value& value, std::string_view kind, const std::string& default_base, Find find,
                                Load load, Reading& reading) {
  if (value.kind() != Value::Kind::kScalar) {
    const std::optional<CompletedMap> map = complete_map(value, kind, default_base, reading);
    return map ? load(map->map, map->name, reading.diagnostics) : std::nullopt;
  }
  try {
    std::optional<Spec> spec = (reading.catalog.*find)(value.text());
    if (!spec) report_unknown_name(value, kind, reading);
    return spec;
  } catch (const InputError& problem) {
    reading.other_files += problem.what();
    return std::nullopt;
  }
}

}  // namespace scenarios
