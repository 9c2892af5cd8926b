#include <nlohmann/json.hpp>

#include "scenarios/accuracy/accuracy_report.h"

namespace scenarios {
namespace {

using Json = nlohmann::ordered_json;

Json errors_json(const ErrorSummary& errors) {
  Json json{
      {"n", errors.rows}, {"median_abs_error", errors.median}, {"p90_abs_error", errors.p90}, {"bias", errors.bias}};
  json["skill"] = errors.skill ? Json(*errors.skill) : Json(nullptr);
  json["shape_error"] = errors.shape ? Json(*errors.shape) : Json(nullptr);
  return json;
}

Json splits_json(const std::vector<Split>& splits) {
  Json json = Json::array();
  for (const Split& split : splits) {
    Json one{{"name", split.name}};
    one.update(errors_json(split.errors));
    json.push_back(one);
  }
  return json;
}

}  // namespace

std::string accuracy_json(const AccuracyReport& report) {
  Json skipped = Json::array();
  for (const auto& [reason, count] : report.skipped) skipped.push_back({{"reason", reason}, {"count", count}});
  Json families = Json::array();
  for (const FamilyAccuracy& family : report.families) {
    Json one{{"family", family.family}};
    one.update(errors_json(family.errors));
    one["recompute_unknown"] = {{"n", family.bracketed}, {"inside", family.inside}};
    families.push_back(one);
  }
  const Json json{{"rows", report.runs.size()},
                  {"skipped", skipped},
                  {"families", families},
                  {"qualities", splits_json(report.qualities)},
                  {"splits", splits_json(report.splits)},
                  {"buyer", errors_json(report.buyer)},
                  {"total", errors_json(report.total)},
                  {"recompute_unknown", {{"n", report.bracketed}, {"inside", report.inside}}},
                  {"usual_software", report.usual_software},
                  {"usual_network", report.usual_network}};
  // The words of a table may be any bytes.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace scenarios
