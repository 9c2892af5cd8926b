// Rows on their way between context ranks: packed for each of them, or put into the order of the sequence.
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "executor/cpu/bindings.h"
#include "executor/cpu/packed_rows.h"

namespace executor::cpu {
namespace {

using hw_models::ElementwiseKind;
using strategies::Operation;

/// blocks[rank][sequence][own token][columns] <-> rows[sequence][position][columns]
template <bool to_blocks>
void deal_tokens(const Call& call) {
  const ContextOrder& order = call.state.order;
  const std::int64_t batch = attention_heads(call.state.role).batch;
  const auto size = static_cast<std::int64_t>(call.writes[0].size());
  const std::int64_t columns = size / (batch * order.sequence);
  const float* from = call.read(0, size);
  float* to = call.write(0, size);
  std::int64_t block = 0;  // row of the blocks
  for (int rank = 0; rank < order.contexts; ++rank) {
    for (std::int64_t sequence = 0; sequence < batch; ++sequence) {
      for (std::int64_t token = 0; token < order.own(); ++token, ++block) {
        const std::int64_t row = sequence * order.sequence + order.position(rank, token);
        std::copy_n(from + (to_blocks ? row : block) * columns, columns, to + (to_blocks ? block : row) * columns);
      }
    }
  }
}

/// Columns of what heads are dealt from: queries, keys and values, or queries alone.
std::vector<std::int64_t> parts_of(const AttentionShape& share, int contexts, std::int64_t columns) {
  const std::int64_t query = contexts * share.query_columns();
  if (columns == query) return {query};
  const std::int64_t keys = contexts * share.kv_heads * share.head_dim;
  return {query, keys, keys};
}

/// blocks[rank][token][share of the columns] <-> rows[token][columns]
template <bool to_blocks>
void deal_heads(const Call& call) {
  const ContextOrder& order = call.state.order;
  const AttentionShape share = attention_heads(call.state.role);  // kernels see one rank's
  const auto size = static_cast<std::int64_t>(call.writes[0].size());
  const std::int64_t tokens = share.batch * order.own(), columns = size / tokens;
  const float* from = call.read(0, size);
  float* to = call.write(0, size);
  std::int64_t block = 0;  // element of the blocks
  for (int rank = 0; rank < order.contexts; ++rank) {
    for (std::int64_t token = 0; token < tokens; ++token) {
      std::int64_t row = token * columns;
      for (const std::int64_t part : parts_of(share, order.contexts, columns)) {
        const std::int64_t length = part / order.contexts, at = row + rank * length;
        std::copy_n(from + (to_blocks ? at : block), length, to + (to_blocks ? block : at));
        block += length;
        row += part;
      }
    }
  }
}

bool is_copy(const Operation& operation, std::string_view first, std::string_view second) {
  const std::string& label = operation.origin.label;
  return pass_of(operation, ElementwiseKind::kCopy) != nullptr && (label == first || label == second);
}

bool fits_keys(const Operation& o) { return is_copy(o, "order-keys-values", ""); }
bool fits_gradients(const Operation& o) { return is_copy(o, "order-gradients", ""); }
bool fits_pack(const Operation& o) { return is_copy(o, "exchange-heads-pack", "exchange-output-gradient-pack"); }
bool fits_order(const Operation& o) { return is_copy(o, "exchange-heads-order", "exchange-output-gradient-order"); }
bool fits_pack_back(const Operation& o) { return is_copy(o, "exchange-output-pack", "exchange-gradient-pack"); }
bool fits_order_back(const Operation& o) { return is_copy(o, "exchange-output-order", "exchange-gradient-order"); }

constexpr std::array<Binding, 6> kBindings{{
    {"elementwise copy", "order-keys-values", fits_keys, deal_tokens<false>},
    {"elementwise copy", "order-gradients", fits_gradients, deal_tokens<true>},
    {"elementwise copy", "exchange-heads-pack, exchange-output-gradient-pack", fits_pack, deal_heads<true>},
    {"elementwise copy", "exchange-heads-order, exchange-output-gradient-order", fits_order, deal_tokens<false>},
    {"elementwise copy", "exchange-output-pack, exchange-gradient-pack", fits_pack_back, deal_tokens<true>},
    {"elementwise copy", "exchange-output-order, exchange-gradient-order", fits_order_back, deal_heads<false>},
}};

}  // namespace

std::span<const Binding> reordering_bindings() { return kBindings; }

}  // namespace executor::cpu
