// A table of runs is read or refused with InputError, whatever the bytes are; a row that was read becomes a scenario
// that can be built, or a reason.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <variant>

#include "scenarios/accuracy/csv.h"
#include "scenarios/accuracy/measured_run.h"
#include "scenarios/accuracy/run_scenario.h"
#include "scenarios/load/diagnostics.h"

namespace {

void check(const scenarios::CsvTable& table) {
  for (const scenarios::CsvRow& row : table.rows) {
    if (row.cells.size() != table.columns.size() || row.line < 2) std::abort();
  }
}

void check(const scenarios::MeasuredRun& run) {
  static const scenarios::Catalog catalog;
  const auto made = scenarios::scenario_of(run, catalog);
  if (const auto* skipped = std::get_if<scenarios::Skipped>(&made)) {
    if (skipped->reason.empty()) std::abort();
    return;
  }
  const scenarios::Scenario& scenario = std::get<scenarios::RunScenario>(made).scenario;
  if (scenario.plan.ranks() != run.gpus || !(scenario.cluster.node.nic_bandwidth.value() >= 0)) std::abort();
  if (std::int64_t{scenario.cluster.nodes} * scenario.cluster.node.gpus < run.gpus) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const scenarios::CsvTable table = scenarios::parse_csv(text, "runs.csv");
    check(table);
    for (const scenarios::MeasuredRun& run : scenarios::read_runs(table)) check(run);
  } catch (const scenarios::InputError& refused) {
    if (!std::string_view(refused.what()).starts_with("runs.csv:")) std::abort();
  }
  return 0;
}
