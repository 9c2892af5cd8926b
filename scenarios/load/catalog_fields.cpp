#include "scenarios/load/catalog_fields.h"

#include <algorithm>
#include <cmath>

namespace scenarios {
namespace {

void require(MapReader& reader, const Field& field) {
  if (!field.example.empty() && !reader.has(field.key)) {
    reader.missing(field.key, "write " + std::string(field.example));
  }
}

template <class Unit>
void read_quantity(MapReader& reader, const Field& field, QuantityKind kind, Unit& out) {
  if (const auto value = reader.quantity(field.key, kind, field.minimum, field.maximum)) out = Unit(*value);
  require(reader, field);
}

std::vector<std::string> read_sources(MapReader& reader) {
  const std::optional<Value> source = reader.value("source");
  if (!source) return {};
  const std::vector<Value> items = source->kind() == Value::Kind::kList ? source->items() : std::vector<Value>{*source};
  std::vector<std::string> lines;
  for (const Value& item : items) {
    if (item.kind() == Value::Kind::kScalar && !item.text().empty()) {
      lines.push_back(item.text());
    } else {
      reader.diagnostics().error(item.place(), "'source' must be text or a list of texts",
                                 "say where the figures come from");
    }
  }
  if (items.empty())
    reader.diagnostics().error(source->place(), "'source' is empty", "say where the figures come from");
  return lines;
}

}  // namespace

void read(MapReader& reader, const Field& field, hw_models::Bytes& out) {
  if (const auto value = reader.quantity(field.key, QuantityKind::kBytes, field.minimum, field.maximum)) {
    out = hw_models::Bytes(std::llround(*value));
  }
  require(reader, field);
}

void read(MapReader& reader, const Field& field, hw_models::BytesPerSecond& out) {
  read_quantity(reader, field, QuantityKind::kBandwidth, out);
}

void read(MapReader& reader, const Field& field, hw_models::FlopsPerSecond& out) {
  read_quantity(reader, field, QuantityKind::kFlopRate, out);
}

void read(MapReader& reader, const Field& field, hw_models::Seconds& out) {
  read_quantity(reader, field, QuantityKind::kTime, out);
}

void read(MapReader& reader, const Field& field, hw_models::Watts& out) {
  read_quantity(reader, field, QuantityKind::kPower, out);
}

void read(MapReader& reader, const Field& field, double& out) {
  if (const auto value = reader.number(field.key, field.minimum, field.maximum)) out = *value;
  require(reader, field);
}

void read(MapReader& reader, const Field& field, int& out) {
  std::int64_t wide = out;
  read(reader, field, wide);
  out = static_cast<int>(wide);
}

void read(MapReader& reader, const Field& field, std::int64_t& out) {
  const auto minimum = static_cast<std::int64_t>(field.minimum);
  const auto maximum = static_cast<std::int64_t>(field.maximum);
  if (const auto value = reader.integer(field.key, minimum, maximum)) out = *value;
  require(reader, field);
}

void read(MapReader& reader, std::string_view key, bool& out) {
  if (const auto value = reader.boolean(key)) out = *value;
}

void read(MapReader& reader, std::string_view key, std::string& out) {
  if (auto value = reader.text(key)) out = *std::move(value);
}

void read_frequency(MapReader& reader, const Field& field, double& out_hz) {
  if (const auto value = reader.quantity(field.key, QuantityKind::kFrequency, field.minimum, field.maximum)) {
    out_hz = *value;
  }
  require(reader, field);
}

EntryNotes read_notes(MapReader& reader, const std::string& fallback_name) {
  EntryNotes notes{.name = fallback_name, .sources = read_sources(reader), .confidence = "", .note = ""};
  read(reader, "name", notes.name);
  read(reader, "note", notes.note);
  const std::optional<std::string> letter =
      reader.one_of<std::string>("confidence", {{"A", "A"}, {"B", "B"}, {"C", "C"}});
  notes.confidence = letter.value_or("");
  return notes;
}

EntryNotes entry_notes(const Value& map, const std::string& fallback_name, Diagnostics& diagnostics) {
  MapReader reader(map, diagnostics);
  return read_notes(reader, fallback_name);
}

std::size_t error_count(const Diagnostics& diagnostics) {
  return static_cast<std::size_t>(
      std::ranges::count_if(diagnostics.findings(), [](const Finding& finding) { return !finding.warning; }));
}

}  // namespace scenarios
