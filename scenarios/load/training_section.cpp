#include <limits>

#include "scenarios/load/catalog_fields.h"
#include "scenarios/load/sections.h"
#include "scenarios/number_format.h"

namespace scenarios {
namespace {

constexpr std::int64_t kLongestSequence = 16'777'216;  // 2^24; the longest context trained so far is about 2^20
constexpr std::int64_t kLargestBatch = 100'000'000;    // sequences per step
constexpr double kMostTokens = 1e18;

/// Wide formats, fp8 as the stack scales it, and every way of scaling.
std::vector<std::pair<std::string, NumberFormat>> precisions() {
  std::vector<std::pair<std::string, NumberFormat>> words;
  for (const hw_models::DTypeInfo& info : hw_models::kDTypes) {
    const bool plain = !hw_models::is_narrow(info.dtype) || info.dtype == hw_models::DType::kFp8;
    if (plain) words.emplace_back(info.name, NumberFormat{info.dtype, strategies::Scaling::kUsual});
  }
  for (const strategies::ScalingRecipe& recipe : strategies::kScalingRecipes) {
    words.emplace_back(recipe.name, NumberFormat{recipe.format, recipe.scaling});
  }
  return words;
}

std::optional<double> read_input_rate(const Value& value, Diagnostics& diagnostics) {
  MapReader reader(value, diagnostics);
  std::optional<double> rate;
  const std::optional<Value> given = reader.value("samples_per_s");
  const bool unlimited = given && given->kind() == Value::Kind::kScalar && given->text() == "unlimited";
  if (!unlimited) rate = reader.number("samples_per_s", 1e-6, 1e12);
  reader.finish();
  return rate;
}

/// balanced | {power_law: 0.5} | {choices: [120, 80, ...]}
strategies::ExpertRouting read_routing(MapReader& training) {
  constexpr double kSteepest = 10, kMostChoices = 1e18;
  strategies::ExpertRouting routing;
  const std::optional<Value> value = training.value("routing");
  if (!value || (value->kind() == Value::Kind::kScalar && value->text() == "balanced")) return routing;
  if (value->kind() != Value::Kind::kMap) {
    training.diagnostics().error(value->place(), "'routing' says how a router's choices fall on the experts",
                                 "use balanced, {power_law: 0.5} or {choices: [120, 80, 100, 100]}");
    return routing;
  }
  MapReader reader(*value, training.diagnostics());
  if (reader.has("power_law") && reader.has("choices")) {
    training.diagnostics().error(reader.place("choices"), "'routing' has both a law and measured choices", "keep one");
  }
  routing.exponent = reader.number("power_law", 0, kSteepest).value_or(0);
  routing.choices = reader.numbers("choices", 0, kMostChoices).value_or(routing.choices);
  reader.finish();
  return routing;
}

}  // namespace

std::optional<strategies::TrainingSpec> read_training(const Value& value, Reading& reading) {
  const std::size_t before = error_count(reading.diagnostics);
  MapReader reader(value, reading.diagnostics);
  strategies::TrainingSpec training;
  const auto length = reader.integer("sequence_length", 1, kLongestSequence);
  if (!reader.has("sequence_length")) reader.missing("sequence_length", "tokens per sequence, e.g. 8192");
  const auto batch = reader.integer("global_batch", 1, kLargestBatch);
  if (!reader.has("global_batch")) reader.missing("global_batch", "sequences per step, e.g. 1024");
  training.sequence_length = length.value_or(0);
  training.global_batch = batch.value_or(0);
  if (const auto format = reader.one_of("precision", precisions())) {
    training.precision = format->dtype;
    training.scaling = format->scaling;
  }
  training.tokens = reader.quantity("tokens", QuantityKind::kTokens, 1, kMostTokens).value_or(0);
  training.routing = read_routing(reader);
  if (const auto input = reader.value("input"))
    training.input_samples_per_s = read_input_rate(*input, reading.diagnostics);
  reader.finish();
  return error_count(reading.diagnostics) == before ? std::optional(training) : std::nullopt;
}

}  // namespace scenarios
