#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/accuracy/accuracy_report.h"
#include "scenarios/accuracy/summary_json.h"

namespace scenarios {
namespace {

using Json = nlohmann::ordered_json;

Json step_errors_json(const ErrorSummary& errors) {
  Json json = errors_json(errors);
  json["skill"] = errors.skill ? Json(*errors.skill) : Json(nullptr);
  json["shape_error"] = errors.shape ? Json(*errors.shape) : Json(nullptr);
  return json;
}

Json splits_json(const std::vector<Split>& splits) {
  Json json = Json::array();
  for (const Split& split : splits) {
    Json one{{"name", split.name}};
    one.update(step_errors_json(split.errors));
    json.push_back(one);
  }
  return json;
}

Json bracket_json(const Bracket& bracket) { return {{"n", bracket.rows}, {"inside", bracket.inside}}; }

Json overlap_json(const StackOverlap& overlap) {
  return {{"n", overlap.rows},
          {"inside", overlap.inside},
          {"median_width", overlap.median_width},
          {"p90_width", overlap.p90_width}};
}

Json family_json(const FamilyAccuracy& family, const Json& memory) {
  Json json{{"family", family.family}};
  json.update(step_errors_json(family.errors));
  json["recompute_unknown"] = bracket_json(family.unstated.recompute);
  json["overlap_unknown"] = bracket_json(family.unstated.overlap);
  json["overlap_of_the_stack"] = overlap_json(family.unstated.stack);
  json["memory"] = memory;
  return json;
}

/// Families of the steps and of the memory, by name; what one of the two lacks is empty or null.
Json families_json(const AccuracyReport& report, const MemoryAccuracy& memory) {
  std::map<std::string, std::pair<FamilyAccuracy, Json>> families;
  for (const FamilyAccuracy& family : report.families) families[family.family].first = family;
  for (const FamilyMemory& family : memory.families) {
    if (family.errors.rows + family.verdicts.rows == 0) continue;
    const auto entry = families.try_emplace(family.family).first;
    entry->second.first.family = family.family;
    entry->second.second = memory_json(family.errors, family.verdicts);
  }
  Json json = Json::array();
  for (const auto& [name, family] : families) json.push_back(family_json(family.first, family.second));
  return json;
}

Json total_json(const AccuracyReport& report, const MemoryAccuracy& memory) {
  Json json = step_errors_json(report.total);
  const bool any = memory.total.rows + memory.verdicts.rows > 0;
  json["memory"] = any ? memory_json(memory.total, memory.verdicts) : Json(nullptr);
  return json;
}

}  // namespace

std::string accuracy_json(const AccuracyReport& report, const MemoryAccuracy& memory) {
  const Json json{{"rows", report.runs.size()},
                  {"skipped", skipped_json(report.skipped)},
                  {"families", families_json(report, memory)},
                  {"qualities", splits_json(report.qualities)},
                  {"splits", splits_json(report.splits)},
                  {"buyer", step_errors_json(report.buyer)},
                  {"total", total_json(report, memory)},
                  {"recompute_unknown", bracket_json(report.unstated.recompute)},
                  {"overlap_unknown", bracket_json(report.unstated.overlap)},
                  {"overlap_of_the_stack", overlap_json(report.unstated.stack)},
                  {"usual_software", report.usual_software},
                  {"usual_network", report.usual_network}};
  // The words of a table may be any bytes.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace scenarios
