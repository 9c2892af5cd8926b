#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "scenarios/accuracy/csv.h"
#include "scenarios/load/read_file.h"
#include "scenarios/load/seats.h"
#include "scenarios/load/sections.h"

namespace scenarios {
namespace {

std::string rule_names() {
  std::string names;
  for (const strategies::PlacementRule& rule : strategies::placement_rules()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", rule.name);
  }
  return names;
}

}  // namespace

std::optional<PlacementSection> read_placement(const Value& value, Reading& reading) {
  const std::string advice =
      fmt::format("use {} or the path of a table rank,host,device, relative to the scenario's folder", rule_names());
  if (value.kind() != Value::Kind::kScalar) {
    reading.diagnostics.error(value.place(), "'placement' must be a word or a path", advice);
    return std::nullopt;
  }
  PlacementSection section{.word = value.text(), .place = value.place()};
  if (strategies::find_placement_rule(section.word) != nullptr) return section;
  std::error_code problem;
  if (std::filesystem::is_regular_file(reading.folder / section.word, problem)) return section;
  reading.diagnostics.error(
      value.place(), fmt::format("'placement: {}' is neither a rule nor a file", shortened(section.word, 100)), advice);
  return std::nullopt;
}

std::optional<strategies::PlacementChoice> complete_placement(const PlacementSection& section,
                                                              const hw_models::ClusterSpec& cluster, int ranks,
                                                              Reading& reading) {
  strategies::PlacementChoice choice{.rule = section.word, .seats = {}};
  if (section.word != "packed" && !hw_models::gpus_of_every_node(cluster)) {
    reading.diagnostics.error(section.place,
                              fmt::format("'placement: {}' needs nodes with equally many GPUs", section.word),
                              "use packed: consecutive ranks on consecutive GPUs");
    return std::nullopt;
  }
  if (strategies::find_placement_rule(section.word) != nullptr) return choice;
  const std::filesystem::path file = reading.folder / section.word;
  try {
    const std::string text = read_bounded_file(file, kLargestTable, "a table of seats");
    choice.seats = parse_seats(text, file.string(),
                               {.ranks = ranks,
                                .hosts = cluster.nodes,
                                .gpus_per_host = cluster.node.gpus,
                                .nics_per_host = hw_models::least_of_nodes(cluster, &hw_models::NodeSpec::nics)});
    return choice;
  } catch (const InputError& defect) {
    reading.other_files += defect.what();
  }
  return std::nullopt;
}

}  // namespace scenarios
