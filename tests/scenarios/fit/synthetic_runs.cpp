#include "tests/scenarios/fit/synthetic_runs.h"

#include "scenarios/accuracy/accuracy.h"
#include "tests/scenarios/accuracy/example_runs.h"

namespace scenarios {

std::vector<FittedParameter> two_parameters() {
  return {{"launch", "software", {"megatron-core"}, "prices.kernel_launch", "us", 4, 400, 40, false, ""},
          {"clock", "gpus", {"a100-sxm-80gb"}, "sustained_clock", "", 0.5, 1, 0.985, false, ""}};
}

Catalog catalog_with(double kernel_launch_us, double sustained_clock) {
  Catalog catalog;
  set_value(catalog, two_parameters()[0], kernel_launch_us);
  set_value(catalog, two_parameters()[1], sustained_clock);
  return catalog;
}

std::vector<MeasuredRun> synthetic_runs(const Catalog& truth) {
  std::vector<Cells> rows;
  for (const char* layers : {"8", "12"}) {
    const std::string group = layers;
    for (const char* micro_batch : {"1", "2", "4"}) {
      rows.push_back(example_cells({{"layers", layers},
                                    {"id", group + "-large-" + micro_batch},
                                    {"family", "large"},
                                    {"group", "large" + group},
                                    {"micro_batch", micro_batch}}));
      rows.push_back(example_cells({{"layers", layers},
                                    {"id", group + "-small-" + micro_batch},
                                    {"family", "small"},
                                    {"group", "small" + group},
                                    {"hidden", "512"},
                                    {"heads", "8"},
                                    {"kv_heads", "8"},
                                    {"head_dim", "64"},
                                    {"ffn", "1536"},
                                    {"seq_len", "512"},
                                    {"micro_batch", micro_batch}}));
    }
  }
  std::vector<MeasuredRun> runs = runs_of(rows);
  for (const RowResult& row : evaluate(runs, truth).rows) runs[row.run].step_s = row.predicted_s;
  return runs;
}

}  // namespace scenarios
