#include "executor/cpu/packed_rows.h"

#include <algorithm>
#include <stdexcept>
#include <variant>

#include "executor/cpu/bindings.h"

namespace executor::cpu {

AttentionShape attention_heads(const strategies::Role& role) {
  for (const strategies::Block& block : role.blocks) {
    for (const strategies::Operation& operation : block.operations) {
      const auto* k = kernel_of<hw_models::Attention>(operation);
      if (k != nullptr) return {.batch = k->batch, .heads = k->heads, .kv_heads = k->kv_heads, .head_dim = k->head_dim};
    }
  }
  throw std::logic_error("a role without attention exchanges keys and values");
}

PackedRows::PackedRows(const RankState& state, std::span<float> packed) : data(packed.data()) {
  const AttentionShape heads = attention_heads(state.role);
  columns = heads.packed_columns();
  query_columns = heads.query_columns();
  rows = heads.batch * state.order.own();
}

void PackedRows::take_keys_and_values(float* to) const {
  for (std::int64_t row = 0; row < rows; ++row) {
    std::copy_n(keys() + row * columns, keys_and_values(), to + row * keys_and_values());
  }
}

void PackedRows::put_keys_and_values(const float* from) const {
  for (std::int64_t row = 0; row < rows; ++row) {
    std::copy_n(from + row * keys_and_values(), keys_and_values(), keys() + row * columns);
  }
}

}  // namespace executor::cpu
