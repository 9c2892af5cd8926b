#include <limits>

#include "scenarios/load/catalog_fields.h"
#include "scenarios/load/sections.h"

namespace scenarios {
namespace {

using hw_models::OptimizerKind;

constexpr std::int64_t kMostSteps = 1'000'000'000;
constexpr double kHighestRate = 1000;  // plain SGD on a small model takes rates around 1

const std::vector<std::pair<std::string, OptimizerKind>> kOptimizerWords{{"sgd", OptimizerKind::kSgd},
                                                                         {"adamw", OptimizerKind::kAdamW}};

void read_run(MapReader& reader, executor::RunSettings& run) {
  if (const auto steps = reader.integer("steps", 1, kMostSteps)) run.steps = static_cast<int>(*steps);
  if (const auto steps = reader.integer("warmup_steps", 0, kMostSteps)) run.warmup_steps = static_cast<int>(*steps);
  if (const auto seed = reader.integer("seed", 0, std::numeric_limits<std::int64_t>::max())) {
    run.seed = static_cast<std::uint64_t>(*seed);
  }
  run.learning_rate = reader.number("learning_rate", 0, kHighestRate).value_or(run.learning_rate);
  run.weight_decay = reader.number("weight_decay", 0, kHighestRate).value_or(run.weight_decay);
  run.gradient_clip = reader.number("gradient_clip", 0, 1e9).value_or(run.gradient_clip);
}

}  // namespace

std::optional<ExecuteSection> read_execute(const Value& value, Reading& reading) {
  const std::size_t before = error_count(reading.diagnostics);
  MapReader reader(value, reading.diagnostics);
  ExecuteSection section;
  read_run(reader, section.spec.run);
  section.optimizer = reader.one_of("optimizer", kOptimizerWords).value_or(section.optimizer);
  if (const auto data = reader.text("data")) section.spec.data = reading.folder / *data;
  reader.finish();
  return error_count(reading.diagnostics) == before ? std::optional(section) : std::nullopt;
}

}  // namespace scenarios
