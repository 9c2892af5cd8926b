#include <fmt/format.h>

#include "scenarios/load/catalog_fields.h"
#include "scenarios/load/sections.h"

namespace scenarios {

std::optional<PriceSpec> read_price(const Value& value, Reading& reading) {
  const std::size_t before = error_count(reading.diagnostics);
  MapReader reader(value, reading.diagnostics);
  PriceSpec price;
  const auto per_hour = reader.number("usd_per_gpu_hour", 0, 1e6);
  price.usd_per_node = reader.number("usd_per_node", 0, 1e9);
  price.years = reader.number("years", 0.01, 100).value_or(price.years);
  price.power_usd_per_kwh = reader.number("power_usd_per_kwh", 0, 1e3).value_or(0);
  price.pue = reader.number("pue", 1, 10).value_or(price.pue);
  if (per_hour) {
    price.usd_per_gpu_hour = *per_hour;
    price.source = "the scenario";
  }
  if (price.usd_per_node) price.source = "bought at the scenario's price";
  if (reader.has("usd_per_gpu_hour") && reader.has("usd_per_node")) {
    reading.diagnostics.error(reader.place("usd_per_node"), "'usd_per_gpu_hour' and 'usd_per_node' exclude each other",
                              "a cluster is rented or bought: keep one");
  }
  for (const std::string_view key : {"years", "power_usd_per_kwh"}) {
    if (reader.has(key) && !reader.has("usd_per_node")) {
      reading.diagnostics.error(reader.place(key), fmt::format("'{}' is for bought nodes only", key),
                                "give usd_per_node as well");
    }
  }
  reader.finish();
  return error_count(reading.diagnostics) == before ? std::optional(price) : std::nullopt;
}

}  // namespace scenarios
