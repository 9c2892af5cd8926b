#include "tests/scenarios/accuracy/example_runs.h"

namespace scenarios {

Cells example_cells(const Cells& changes) {
  Cells cells{{"id", "run-1"},
              {"family", "examples"},
              {"software", "megatron-core"},
              {"software_version_or_date", ""},
              {"model_name", "13b"},
              {"layers", "40"},
              {"hidden", "5120"},
              {"heads", "40"},
              {"kv_heads", "40"},
              {"head_dim", "128"},
              {"ffn", "13824"},
              {"mlp", "swiglu"},
              {"vocab", "32000"},
              {"tied_embeddings", "0"},
              {"position", "rope"},
              {"norm", "rmsnorm"},
              {"experts", ""},
              {"mla", "0"},
              {"seq_len", "4096"},
              {"gpu", "a100-sxm-80gb"},
              {"gpus", "16"},
              {"gpus_per_node", "8"},
              {"nvlink_domain", "8"},
              {"inter_node", "8x200Gb/s IB"},
              {"dp", "4"},
              {"tp", "2"},
              {"pp", "2"},
              {"cp", "1"},
              {"ep", "1"},
              {"vpp", "1"},
              {"pp_schedule", "1f1b"},
              {"sequence_parallel", "1"},
              {"zero_stage", "1"},
              {"micro_batch", "1"},
              {"global_batch", "64"},
              {"precision", "bf16"},
              {"flash_attention", "1"},
              {"recompute", "none"},
              {"offload", "none"},
              {"overlap_dp", ""},
              {"measured_step_s", "8"},
              {"measured_peak_memory_gib", ""},
              {"measured_allocated_gib", ""},
              {"memory_kind", ""},
              {"quality", "B"},
              {"group", "13b|a100"},
              {"flags", ""}};
  for (const auto& [column, cell] : changes) cells[column] = cell;
  return cells;
}

std::string csv_of(const std::vector<Cells>& rows) {
  std::string text;
  for (const auto& [column, cell] : rows.front()) text += (text.empty() ? "" : ",") + column;
  for (const Cells& row : rows) {
    char separator = '\n';
    for (const auto& [column, cell] : row) {
      text += separator + ('"' + cell + '"');
      separator = ',';
    }
  }
  return text + "\n";
}

std::vector<MeasuredRun> runs_of(const std::vector<Cells>& rows) {
  return read_runs(parse_csv(csv_of(rows), "runs.csv"));
}

MeasuredRun example_run(const Cells& changes) { return runs_of({example_cells(changes)}).front(); }

}  // namespace scenarios
