#include "scenarios/load/catalog_choice.h"

#include <fmt/format.h>

namespace scenarios {
namespace {

std::string name_advice(std::string_view word, std::string_view kind, const Catalog& catalog) {
  const std::optional<std::string> near = nearest(word, catalog.names(kind));
  return near ? fmt::format("did you mean '{}'?", *near)
              : fmt::format("`trainyard catalog {}` lists what is known", kind);
}

}  // namespace

void report_unknown_name(const Value& value, std::string_view kind, Reading& reading) {
  reading.diagnostics.error(value.place(), fmt::format("'{}' is not in the catalogue", shortened(value.text())),
                            name_advice(value.text(), kind, reading.catalog));
}

std::optional<Base> read_base(const Value& map, std::string_view kind, const std::string& default_base,
                              Reading& reading) {
  std::string base_name = default_base;
  Place base_place = map.place();
  if (map.kind() == Value::Kind::kMap) {  // anything else is reported by the loader of the kind
    MapReader reader(map, reading.diagnostics);
    const std::optional<std::string> given = reader.text("base");
    if (!given && reader.has("base")) return std::nullopt;
    base_name = given.value_or(default_base);
    base_place = reader.place("base");
  }
  if (base_name.empty() || map.kind() != Value::Kind::kMap) return Base{};
  const CatalogFile* file = reading.catalog.find(kind, base_name);
  if (file == nullptr) {
    reading.diagnostics.error(base_place, fmt::format("'{}' is not in the catalogue", shortened(base_name)),
                              name_advice(base_name, kind, reading.catalog));
    return std::nullopt;
  }
  Diagnostics base_diagnostics(file->path, file->text);
  const std::optional<Value> base = parse_yaml(file->text, base_diagnostics);
  if (!base || base->kind() != Value::Kind::kMap) {
    reading.diagnostics.error(base_place, fmt::format("the catalogue's '{}' is broken", base_name), file->path);
    return std::nullopt;
  }
  return Base{base, base_name, base_place};
}

std::optional<CompletedMap> complete_map(const Value& map, std::string_view kind, const std::string& default_base,
                                         Reading& reading) {
  const std::optional<Base> base = read_base(map, kind, default_base, reading);
  if (!base) return std::nullopt;
  if (!base->map) return CompletedMap{map, base->name};
  return CompletedMap{merged(*base->map, without(map, "base"), base->place), base->name};
}

}  // namespace scenarios
