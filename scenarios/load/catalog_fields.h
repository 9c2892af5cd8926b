// Keys of a catalogue map -> fields of a spec, with their ranges. Shared by the loaders of one kind each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hw_models/units.h"
#include "scenarios/load/yaml_document.h"

namespace scenarios {

/// One key with its legal range in base units (bytes, bytes/s, FLOP/s, s, W).
struct Field {
  std::string_view key;
  double minimum = 0, maximum = 0;
  std::string_view example = {};  ///< "memory: 80 GiB", proposed when a required key is missing; empty = optional
};

/// Each leaves `out` as it is when the key is absent or defective; a required key that is absent is a finding.
void read(MapReader& reader, const Field& field, hw_models::Bytes& out);
void read(MapReader& reader, const Field& field, hw_models::BytesPerSecond& out);
void read(MapReader& reader, const Field& field, hw_models::FlopsPerSecond& out);
void read(MapReader& reader, const Field& field, hw_models::Seconds& out);
void read(MapReader& reader, const Field& field, hw_models::Watts& out);
void read(MapReader& reader, const Field& field, double& out);  ///< without unit
void read(MapReader& reader, const Field& field, int& out);
void read(MapReader& reader, const Field& field, std::int64_t& out);
void read(MapReader& reader, std::string_view key, bool& out);
void read(MapReader& reader, std::string_view key, std::string& out);
void read_frequency(MapReader& reader, const Field& field, double& out_hz);

/// One of `words`; a required key has an example.
template <class T>
void read_word(MapReader& reader, const Field& field, const std::vector<std::pair<std::string, T>>& words, T& out) {
  if (const std::optional<T> found = reader.one_of(field.key, words)) out = *found;
  if (!field.example.empty() && !reader.has(field.key))
    reader.missing(field.key, "write " + std::string(field.example));
}

/// What an entry says about itself beside its figures.
struct EntryNotes {
  std::string name;
  std::vector<std::string> sources;  ///< one line per group of figures
  std::string confidence;  ///< of the main figures: A = read in a source, B = vendor value, C = uncertain; may be empty
  std::string note;
};

EntryNotes read_notes(MapReader& reader, const std::string& fallback_name);
/// The notes of a whole catalogue file; its figures are not looked at.
EntryNotes entry_notes(const Value& map, const std::string& fallback_name, Diagnostics& diagnostics);

/// Errors so far: a loader returns nothing when its own map added some.
std::size_t error_count(const Diagnostics& diagnostics);

}  // namespace scenarios
