// One published training run: what was trained on what, how, and what was measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/accuracy/csv.h"

namespace scenarios {

/// Columns as in docs/accuracy.md. nullopt and "" = unknown or not applicable.
struct MeasuredRun {
  std::string id, family, software, software_date, model_name;
  std::string source;  ///< where it was published; "" where the table does not say
  std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn = 0, vocabulary = 0;
  std::string mlp, position, norm;
  bool tied_embeddings = false, latent = false;
  std::int64_t experts = 0, experts_per_token = 0, expert_ffn = 0, dense_layers = 0;
  double shared_experts = 0;  ///< 0.5 = one of half the width
  std::int64_t sequence_length = 0;
  std::string gpu, inter_node;
  std::int64_t gpus = 0, gpus_per_node = 0, nvlink_domain = 0;
  std::int64_t data = 0, tensor = 0, pipeline = 0, context = 1, expert = 1, chunks = 1;
  std::int64_t expert_tensor = 0;  ///< 0 = not said
  std::string schedule;
  std::optional<bool> sequence_parallel;
  std::optional<std::int64_t> zero, micro_batch;
  std::int64_t global_batch = 0;
  std::string precision;
  std::string sharding;  ///< fsdp-full, shard-grad-op, hsdp, ... where there are several ways to a ZeRO stage
  std::optional<bool> flash_attention, overlap_data, overlap_tensor, compiled;
  std::string recompute;  ///< none, selective, full, or "" = unknown
  std::string offload;
  std::optional<double> step_s;  ///< measured
  std::optional<double> memory_gib, allocated_gib;
  std::string memory_kind, outcome;  ///< outcome: fit, oom, failed-unknown; only in memory tables
  std::string quality, group, flags;
  std::vector<std::string> cells;  ///< the whole row, for --per-row
};

/// Throws InputError naming file, line and column for missing columns and cells that are not what they should be.
std::vector<MeasuredRun> read_runs(const CsvTable& table);
/// The runs of several files ("-" = standard input), one after the other.
std::vector<MeasuredRun> read_run_files(const std::vector<std::string>& files);

}  // namespace scenarios
