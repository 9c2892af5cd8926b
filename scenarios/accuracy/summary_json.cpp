#include "scenarios/accuracy/summary_json.h"

#include <nlohmann/json.hpp>

namespace scenarios {

nlohmann::ordered_json errors_json(const ErrorSummary& errors) {
  return {
      {"n", errors.rows}, {"median_abs_error", errors.median}, {"p90_abs_error", errors.p90}, {"bias", errors.bias}};
}

nlohmann::ordered_json skipped_json(const std::map<std::string, int>& skipped) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const auto& [reason, count] : skipped) json.push_back({{"reason", reason}, {"count", count}});
  return json;
}

nlohmann::ordered_json memory_json(const ErrorSummary& errors, const Verdicts& verdicts) {
  nlohmann::ordered_json json = errors_json(errors);
  json["verdicts"] = {{"n", verdicts.rows},
                      {"right", verdicts.right},
                      {"false_fit", verdicts.false_fit},
                      {"false_oom", verdicts.false_oom}};
  return json;
}

}  // namespace scenarios
