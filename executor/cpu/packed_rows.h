// Rows of the packed projection: queries, then keys, then values (AttentionShape).
#pragma once

#include <cstdint>
#include <span>

#include "executor/cpu/kernel_shapes.h"
#include "executor/cpu/rank_state.h"

namespace executor::cpu {

/// Sequences and heads of this rank's attention kernels.
AttentionShape attention_heads(const strategies::Role& role);

/// A projection, or its gradient.
struct PackedRows {
  PackedRows(const RankState& state, std::span<float> packed);

  std::int64_t columns, query_columns, rows;
  float* data;

  std::int64_t keys_and_values() const { return columns - query_columns; }  ///< columns
  float* keys() const { return data + query_columns; }
  float* values() const { return keys() + keys_and_values() / 2; }
  /// All keys and values, row by row, from or to where they lie without queries.
  void take_keys_and_values(float* to) const;
  void put_keys_and_values(const float* from) const;
};

}  // namespace executor::cpu
