#include "scenarios/accuracy/measured_run.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <sstream>

#include "scenarios/load/diagnostics.h"
#include "scenarios/load/read_file.h"

namespace scenarios {
namespace {

/// The columns that are read; where they are there `source`, `sharding` and `torch_compile`, too, in memory tables
/// `outcome`, and of experts `experts_per_token`, `moe_ffn`, `shared_experts`, `dense_layers` and `etp`.
constexpr const char* kColumns =
    "id family software software_version_or_date model_name layers hidden heads kv_heads head_dim ffn mlp vocab "
    "tied_embeddings position norm experts mla seq_len gpu gpus gpus_per_node nvlink_domain inter_node dp tp pp cp ep "
    "vpp pp_schedule sequence_parallel zero_stage micro_batch global_batch precision flash_attention recompute offload "
    "overlap_dp measured_step_s measured_peak_memory_gib measured_allocated_gib memory_kind quality group flags";

void check_columns(const CsvTable& table) {
  std::istringstream columns(kColumns);
  for (std::string column; columns >> column;) {
    if (table.find(column)) continue;
    throw InputError(fmt::format("{}:1:1: error: column '{}' is missing\n  docs/accuracy.md lists the columns\n",
                                 table.file, column));
  }
}

/// Reads the cells of one row by column name.
class RowReader {
 public:
  RowReader(const CsvTable& table, const CsvRow& row) : table_(table), row_(row) {}

  const std::string& text(std::string_view column) const { return row_.cells[table_.find(column).value()]; }
  std::string optional_text(std::string_view column) const { return table_.find(column) ? text(column) : ""; }

  std::optional<double> number(std::string_view column) const {
    const std::string& cell = text(column);
    if (cell.empty()) return std::nullopt;
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    const bool whole = error == std::errc{} && end == cell.data() + cell.size();
    if (!whole || !(value >= 0 && value < 1e18)) fail(column, "a number from 0 to 1e18");
    return value;
  }
  std::optional<double> optional_number(std::string_view column) const {
    return table_.find(column) ? number(column) : std::nullopt;
  }
  std::int64_t optional_integer(std::string_view column) const {
    return table_.find(column) ? integer(column).value_or(0) : 0;
  }
  std::optional<std::int64_t> integer(std::string_view column) const {
    const std::optional<double> value = number(column);
    if (!value) return std::nullopt;
    if (*value > 1e12 || *value != static_cast<double>(static_cast<std::int64_t>(*value)))
      fail(column, "a whole number");
    return static_cast<std::int64_t>(*value);
  }
  std::int64_t required(std::string_view column) const {
    const std::optional<std::int64_t> value = integer(column);
    if (!value || *value < 1) fail(column, "a whole number of at least 1");
    return *value;
  }
  std::optional<bool> flag(std::string_view column) const {
    const std::string& cell = text(column);
    if (cell.empty()) return std::nullopt;
    if (cell != "0" && cell != "1") fail(column, "0, 1 or nothing");
    return cell == "1";
  }

 private:
  [[noreturn]] void fail(std::string_view column, std::string_view expected) const {
    throw InputError(fmt::format("{}:{}: error: column '{}' holds '{}'\n  expected {}\n", table_.file, row_.line,
                                 column, shortened(text(column)), expected));
  }

  const CsvTable& table_;
  const CsvRow& row_;
};

void read_model(const RowReader& row, MeasuredRun& run) {
  run.layers = row.required("layers");
  run.hidden = row.required("hidden");
  run.heads = row.required("heads");
  run.kv_heads = row.integer("kv_heads").value_or(run.heads);
  run.head_dim = row.integer("head_dim").value_or(run.hidden / run.heads);
  run.ffn = row.integer("ffn").value_or(0);
  run.vocabulary = row.required("vocab");
  run.mlp = row.text("mlp");
  run.position = row.text("position");
  run.norm = row.text("norm");
  run.tied_embeddings = row.flag("tied_embeddings").value_or(false);
  run.latent = row.flag("mla").value_or(false);
  run.experts = row.integer("experts").value_or(0);
  run.experts_per_token = row.optional_integer("experts_per_token");
  run.expert_ffn = row.optional_integer("moe_ffn");
  run.shared_experts = row.optional_number("shared_experts").value_or(0);
  run.dense_layers = row.optional_integer("dense_layers");
  run.sequence_length = row.required("seq_len");
}

void read_layout(const RowReader& row, MeasuredRun& run) {
  run.gpu = row.text("gpu");
  run.inter_node = row.text("inter_node");
  run.gpus = row.integer("gpus").value_or(0);
  run.gpus_per_node = row.integer("gpus_per_node").value_or(0);
  run.nvlink_domain = row.integer("nvlink_domain").value_or(run.gpus_per_node);
  run.data = row.integer("dp").value_or(0);
  run.tensor = row.required("tp");
  run.pipeline = row.required("pp");
  run.context = row.integer("cp").value_or(1);
  run.expert = row.integer("ep").value_or(1);
  run.expert_tensor = row.optional_integer("etp");
  run.chunks = row.integer("vpp").value_or(1);
  run.schedule = row.text("pp_schedule");
  run.sequence_parallel = row.flag("sequence_parallel");
  run.zero = row.integer("zero_stage");
  run.sharding = row.optional_text("sharding");
  run.micro_batch = row.integer("micro_batch");
  run.global_batch = row.integer("global_batch").value_or(0);
  run.precision = row.text("precision");
  run.flash_attention = row.flag("flash_attention");
  run.overlap_data = row.flag("overlap_dp");
  run.overlap_tensor = row.optional_text("overlap_tp").empty() ? std::nullopt : row.flag("overlap_tp");
  run.compiled = row.optional_text("torch_compile").empty() ? std::nullopt : row.flag("torch_compile");
  run.recompute = row.text("recompute");
  run.offload = row.text("offload");
}

}  // namespace

std::vector<MeasuredRun> read_runs(const CsvTable& table) {
  check_columns(table);
  std::vector<MeasuredRun> runs;
  for (const CsvRow& cells : table.rows) {
    const RowReader row(table, cells);
    MeasuredRun run;
    run.id = row.text("id");
    run.family = row.text("family");
    run.software = row.text("software");
    run.software_date = row.text("software_version_or_date");
    run.source = row.optional_text("source");
    run.model_name = row.text("model_name");
    read_model(row, run);
    read_layout(row, run);
    run.step_s = row.number("measured_step_s");
    run.memory_gib = row.number("measured_peak_memory_gib");
    run.allocated_gib = row.number("measured_allocated_gib");
    run.memory_kind = row.text("memory_kind");
    run.outcome = row.optional_text("outcome");
    run.quality = row.text("quality");
    run.group = row.text("group");
    run.flags = row.text("flags");
    run.cells = cells.cells;
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<MeasuredRun> read_run_files(const std::vector<std::string>& files) {
  std::vector<MeasuredRun> runs;
  for (const std::string& file : files) {
    std::vector<MeasuredRun> more = read_runs(parse_csv(read_bounded_file(file, kLargestTable, "a table"), file));
    runs.insert(runs.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return runs;
}

}  // namespace scenarios
