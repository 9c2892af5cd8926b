#include "scenarios/load/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "scenarios/load/diagnostics.h"

namespace scenarios {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

struct KindInfo {
  std::string_view noun, example;  ///< what it is called, and the unit that advice proposes
};

constexpr double kMinute = 60, kHour = 3600, kDay = 86400;

constexpr std::array<Unit, 11> kByteUnits{{{"B", 1},
                                           {"kB", 1e3},
                                           {"MB", 1e6},
                                           {"GB", 1e9},
                                           {"TB", 1e12},
                                           {"PB", 1e15},
                                           {"KiB", 0x1p10},
                                           {"MiB", 0x1p20},
                                           {"GiB", 0x1p30},
                                           {"TiB", 0x1p40},
                                           {"PiB", 0x1p50}}};

constexpr std::array<Unit, 5> kBitUnits{{{"b", 1}, {"kb", 1e3}, {"Mb", 1e6}, {"Gb", 1e9}, {"Tb", 1e12}}};

constexpr std::array<Unit, 6> kFlopUnits{
    {{"FLOP", 1}, {"MFLOP", 1e6}, {"GFLOP", 1e9}, {"TFLOP", 1e12}, {"PFLOP", 1e15}, {"EFLOP", 1e18}}};

constexpr std::array<Unit, 21> kTimeUnits{{{"ns", 1e-9},        {"us", 1e-6},         {"\u00b5s", 1e-6},
                                           {"\u03bcs", 1e-6},   {"ms", 1e-3},         {"s", 1},
                                           {"second", 1},       {"seconds", 1},       {"min", kMinute},
                                           {"minute", kMinute}, {"minutes", kMinute}, {"h", kHour},
                                           {"hour", kHour},     {"hours", kHour},     {"d", kDay},
                                           {"day", kDay},       {"days", kDay},       {"week", 7 * kDay},
                                           {"weeks", 7 * kDay}, {"year", 365 * kDay}, {"years", 365 * kDay}}};

constexpr std::array<Unit, 4> kFrequencyUnits{{{"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}}};
constexpr std::array<Unit, 3> kPowerUnits{{{"W", 1}, {"kW", 1e3}, {"MW", 1e6}}};
constexpr std::array<Unit, 5> kTokenUnits{{{"tokens", 1}, {"K", 1e3}, {"M", 1e6}, {"B", 1e9}, {"T", 1e12}}};

constexpr std::array kKinds{QuantityKind::kBytes, QuantityKind::kBandwidth, QuantityKind::kFlopRate,
                            QuantityKind::kTime,  QuantityKind::kFrequency, QuantityKind::kPower,
                            QuantityKind::kTokens};

KindInfo info(QuantityKind kind) {
  switch (kind) {
    case QuantityKind::kBytes:
      return {"an amount of bytes", "GB"};
    case QuantityKind::kBandwidth:
      return {"a bandwidth", "GB/s"};
    case QuantityKind::kFlopRate:
      return {"a FLOP rate", "TFLOP/s"};
    case QuantityKind::kTime:
      return {"a time", "us"};
    case QuantityKind::kFrequency:
      return {"a frequency", "MHz"};
    case QuantityKind::kPower:
      return {"a power", "W"};
    case QuantityKind::kTokens:
      return {"a number of tokens", "tokens"};
  }
  return {};
}

std::optional<double> find(std::span<const Unit> units, std::string_view name) {
  const auto unit = std::ranges::find(units, name, &Unit::name);
  return unit == units.end() ? std::nullopt : std::optional(unit->factor);
}

/// The unit without one of the endings that mean "per second"; nullopt when it has none.
std::optional<std::string_view> per_second(std::string_view unit, std::initializer_list<std::string_view> endings) {
  for (const std::string_view ending : endings) {
    if (unit.ends_with(ending)) return unit.substr(0, unit.size() - ending.size());
  }
  return std::nullopt;
}

std::optional<double> bandwidth_factor(std::string_view unit) {
  const std::optional<std::string_view> amount = per_second(unit, {"bit/s", "/s", "ps"});
  if (!amount) return std::nullopt;
  if (unit.ends_with("bit/s")) {
    const std::optional<double> bits = find(kBitUnits, std::string(*amount) + "b");
    return bits ? std::optional(*bits / 8) : std::nullopt;
  }
  if (const std::optional<double> bytes = find(kByteUnits, *amount)) return bytes;
  const std::optional<double> bits = find(kBitUnits, *amount);
  return bits ? std::optional(*bits / 8) : std::nullopt;
}

std::optional<double> token_factor(std::string_view unit) {
  if (unit.ends_with("tokens") && unit.size() > 6) {
    unit.remove_suffix(6);
    while (unit.ends_with(' ')) unit.remove_suffix(1);
  }
  return find(kTokenUnits, unit);
}

std::optional<double> unit_factor(QuantityKind kind, std::string_view unit) {
  switch (kind) {
    case QuantityKind::kBytes:
      return find(kByteUnits, unit);
    case QuantityKind::kBandwidth:
      return bandwidth_factor(unit);
    case QuantityKind::kFlopRate: {
      const std::optional<std::string_view> amount = per_second(unit, {"s/s", "/s", "S", "s"});
      return amount ? find(kFlopUnits, *amount) : std::nullopt;
    }
    case QuantityKind::kTime:
      return find(kTimeUnits, unit);
    case QuantityKind::kFrequency:
      return find(kFrequencyUnits, unit);
    case QuantityKind::kPower:
      return find(kPowerUnits, unit);
    case QuantityKind::kTokens:
      return token_factor(unit);
  }
  return std::nullopt;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return result;
}

/// Spellings of units of this kind that equal `unit` but for upper and lower case.
std::vector<std::string> same_but_case(QuantityKind kind, std::string_view unit) {
  static constexpr std::array<std::string_view, 34> kSpellings{
      "kB",    "MB",      "GB",      "TB",      "KiB",    "MiB",  "GiB", "TiB", "kB/s", "MB/s",  "GB/s", "TB/s",
      "GiB/s", "kb/s",    "Mb/s",    "Gb/s",    "Tb/s",   "Gbps", "Hz",  "kHz", "MHz",  "GHz",   "W",    "kW",
      "MW",    "GFLOP/s", "TFLOP/s", "PFLOP/s", "TFLOPS", "K",    "M",   "B",   "T",    "tokens"};
  std::vector<std::string> result;
  for (const std::string_view spelling : kSpellings) {
    if (lower(spelling) == lower(unit) && unit_factor(kind, spelling)) result.emplace_back(spelling);
  }
  return result;
}

ParsedQuantity failed(std::string error, std::string advice) { return {0, std::move(error), std::move(advice)}; }

std::string unit_advice(QuantityKind kind, std::string_view number) {
  if (kind == QuantityKind::kTime) return fmt::format("write {0} us, {0} ms or {0} s", number);
  // Nobody trains on fewer than a million tokens: a short number is meant in billions or trillions.
  constexpr std::size_t kDigitsOfMillion = 7;
  const bool few = number.size() < kDigitsOfMillion && number.find('e') == std::string_view::npos;
  if (kind == QuantityKind::kTokens && few) return fmt::format("write {0}B or {0}T", number);
  return fmt::format("write {} {}", number, info(kind).example);
}

/// The number is fine, its unit is not.
ParsedQuantity wrong_unit(QuantityKind kind, std::string_view text, std::string_view number, std::string_view unit) {
  const std::string advice = unit_advice(kind, number);
  if (unit.empty()) return failed(fmt::format("'{}' has no unit", text), advice);
  const std::vector<std::string> spellings = same_but_case(kind, unit);
  if (kind == QuantityKind::kBytes && find(kBitUnits, unit) && !spellings.empty()) {
    return failed(fmt::format("'{}' is an amount of bits", text), fmt::format("write {} {}", number, spellings[0]));
  }
  if (kind == QuantityKind::kTime && unit == "m") {
    return failed(fmt::format("'{}' could be minutes or milliseconds", text),
                  fmt::format("write {0} min or {0} ms", number));
  }
  if (spellings.size() > 1) {
    return failed(fmt::format("'{}' could be bits or bytes", text),
                  fmt::format("write {0} {1} or {0} {2}", number, spellings[0], spellings[1]));
  }
  if (spellings.size() == 1) {
    return failed(fmt::format("'{}' has an unknown unit '{}'", text, unit),
                  fmt::format("write {} {}", number, spellings[0]));
  }
  if (kind == QuantityKind::kBandwidth && (find(kByteUnits, unit) || find(kBitUnits, unit))) {
    return failed(fmt::format("'{}' is an amount of {}", text, find(kByteUnits, unit) ? "bytes" : "bits"),
                  fmt::format("write {} {}/s", number, unit));
  }
  for (const QuantityKind other : kKinds) {
    if (unit_factor(other, unit)) return failed(fmt::format("'{}' is {}", text, info(other).noun), advice);
  }
  return failed(fmt::format("'{}' has an unknown unit '{}'", text, unit), advice);
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string_view noun(QuantityKind kind) { return info(kind).noun; }

ParsedQuantity parse_quantity(QuantityKind kind, std::string_view text) {
  constexpr std::size_t kLongest = 64;
  text = trimmed(text);
  const std::string example = fmt::format("write a number and a unit, such as 100 {}", info(kind).example);
  if (text.size() > kLongest) return failed(fmt::format("'{}' is not a number with a unit", shortened(text)), example);
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status == std::errc::result_out_of_range) return failed(fmt::format("'{}' is out of range", text), example);
  if (status != std::errc() || !std::isfinite(value)) {
    return failed(fmt::format("'{}' is not a number with a unit", text), example);
  }
  const std::string_view number = text.substr(0, static_cast<std::size_t>(end - text.data()));
  const std::string_view unit = trimmed(text.substr(number.size()));
  if (std::signbit(value)) return failed(fmt::format("'{}' is negative", text), "");
  const std::optional<double> factor = unit_factor(kind, unit);
  if (!factor) return wrong_unit(kind, text, number, unit);
  const double result = value * *factor;
  if (!std::isfinite(result)) return failed(fmt::format("'{}' is out of range", text), example);
  return {result, "", ""};
}

std::string print_quantity(QuantityKind kind, double value) {
  constexpr std::array<Unit, 7> kScales{
      {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"E", 1e18}}};
  if (kind == QuantityKind::kTime) {
    constexpr std::array<Unit, 6> kSteps{
        {{"days", kDay}, {"h", kHour}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}};
    const auto step = std::ranges::find_if(kSteps, [value](const Unit& unit) { return value >= unit.factor; });
    return step == kSteps.end() ? fmt::format("{:g} s", value)
                                : fmt::format("{:g} {}", value / step->factor, step->name);
  }
  if (kind == QuantityKind::kTokens) return fmt::format("{:g} tokens", value);
  std::string_view base = info(kind).example;
  base.remove_prefix(kind == QuantityKind::kPower ? 0 : 1);
  const Unit* scale = kScales.data();
  for (const Unit& candidate : kScales) {
    if (value >= candidate.factor) scale = &candidate;
  }
  return fmt::format("{:g} {}{}", value / scale->factor, scale->name, base);
}

}  // namespace scenarios
