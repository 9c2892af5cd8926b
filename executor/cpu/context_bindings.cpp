// Attention by blocks (AttentionBlock): of whole sequences, round the ring of context ranks, over gathered keys.
//
// A rank's queries are one or two pieces of each sequence (ContextOrder), and the keys that a piece sees are always the
// first ones of what it meets.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string_view>

#include "executor/cpu/bindings.h"
#include "executor/cpu/packed_rows.h"

namespace executor::cpu {
namespace {

using hw_models::Attention;
using hw_models::DType;
using hw_models::Elementwise;
using hw_models::ElementwiseKind;
using strategies::Operation;

/// Rows of keys and of values, or of their gradients.
struct KeyRows {
  float *keys = nullptr, *values = nullptr;
  std::int64_t stride = 0;
};

KeyRows in_packed(const PackedRows& packed) { return {packed.keys(), packed.values(), packed.columns}; }
/// Without queries: keys, then values in every row.
KeyRows alone(float* data, const PackedRows& packed) {
  const std::int64_t columns = packed.keys_and_values();
  return {data, data + columns / 2, columns};
}

/// Queries of one piece of one sequence and the keys they see.
struct Piece {
  std::int64_t first_query = 0, queries = 0;  ///< rows of this rank
  std::int64_t first_key = 0, keys = 0, seen = 0;
};

/// What attention works on; the forward pass writes `context` and `log_sums`, the backward pass reads them.
struct Operands {
  PackedRows packed;
  KeyRows keys;
  float *context = nullptr, *log_sums = nullptr;
};

struct Gradients {
  const float* context;
  PackedRows packed;
  KeyRows keys;
};

AttentionBlock block_of(const Attention& k, const Piece& piece, const Operands& o) {
  return {.heads = k.heads,
          .kv_heads = k.kv_heads,
          .head_dim = k.head_dim,
          .queries = piece.queries,
          .keys = piece.keys,
          .seen = piece.seen,
          .query_stride = o.packed.columns,
          .key_stride = o.keys.stride,
          .window = k.window};
}

void attend(const Call& call, const Piece& piece, const Operands& o) {
  const auto& k = call.kernel<Attention>();
  float* context = o.context + piece.first_query * k.heads * k.head_dim;
  float* log_sums = o.log_sums + piece.first_query * k.heads;
  if (piece.keys == 0) {
    std::fill_n(context, piece.queries * k.heads * k.head_dim, 0.0F);
    std::fill_n(log_sums, piece.queries * k.heads, -std::numeric_limits<float>::infinity());
    return;
  }
  const AttentionBlock block = block_of(k, piece, o);
  call.state.kernels.attention_block_forward(
      block, o.packed.data + piece.first_query * o.packed.columns, o.keys.keys + piece.first_key * o.keys.stride,
      o.keys.values + piece.first_key * o.keys.stride, context, log_sums,
      call.state.scratch(static_cast<std::size_t>(attention_workspace(block))).data());
}

void attend_backward(const Call& call, const Piece& piece, const Operands& o, const Gradients& d) {
  if (piece.keys == 0) return;
  const auto& k = call.kernel<Attention>();
  AttentionBlock block = block_of(k, piece, o);
  block.query_gradient_stride = d.packed.columns;
  block.key_gradient_stride = d.keys.stride;
  const std::int64_t key = piece.first_key * o.keys.stride, key_gradient = piece.first_key * d.keys.stride;
  const std::int64_t row = piece.first_query * block.columns();
  call.state.kernels.attention_block_backward(
      block, o.packed.data + piece.first_query * o.packed.columns, o.keys.keys + key, o.keys.values + key,
      o.context + row, o.log_sums + piece.first_query * k.heads, d.context + row,
      d.packed.data + piece.first_query * d.packed.columns, d.keys.keys + key_gradient, d.keys.values + key_gradient,
      call.state.scratch(static_cast<std::size_t>(2 * attention_workspace(block))).data());
}

void clear(std::span<float> values) { std::ranges::fill(values, 0.0F); }

// What labels begin with.
constexpr std::string_view kHeads = "attention-heads", kRing = "attention-ring-", kGathered = "attention-gathered-";

template <const std::string_view& label, bool backward>
bool fits(const Operation& operation) {
  const auto* k = kernel_of<Attention>(operation);
  return k != nullptr && k->backward == backward && k->kernel != hw_models::AttentionKernel::kUnfused &&
         k->dtype == DType::kFp32 && !k->dropout && k->head_dim == k->value_dim &&
         operation.origin.label.starts_with(label) && operation.origin.label.ends_with("-backward") == backward;
}

/// The number behind `prefix`.
int number_of(const Call& call, std::string_view prefix) {
  const std::string& label = call.operation.origin.label;
  int number = 0;
  std::from_chars(label.data() + prefix.size(), label.data() + label.size(), number);
  return number;
}

// ---- Whole sequences of some heads --------------------------------------------------------------------------------

Piece whole_sequence(const Attention& k, std::int64_t sequence) {
  const std::int64_t first = sequence * k.query_length;
  return {first, k.query_length, first, k.query_length, 1};
}

/// {packed} -> {context, log-sums}
void run_heads(const Call& call) {
  const auto& k = call.kernel<Attention>();
  const PackedRows packed(call.state, call.reads[0]);
  const std::int64_t tokens = k.batch * k.query_length, size = tokens * packed.query_columns;
  float* log_sums = call.write(1, tokens * k.heads);
  float* context = call.write(0, size);
  for (std::int64_t i = 0; i < k.batch; ++i) {
    attend(call, whole_sequence(k, i), {packed, in_packed(packed), context, log_sums});
  }
}

/// {packed, context, log-sums, gradient of context} -> {gradient of packed}
void run_heads_backward(const Call& call) {
  const auto& k = call.kernel<Attention>();
  const PackedRows packed(call.state, call.reads[0]), gradient(call.state, call.writes[0]);
  clear(call.writes[0]);
  for (std::int64_t i = 0; i < k.batch; ++i) {
    attend_backward(call, whole_sequence(k, i), {packed, in_packed(packed), call.reads[1].data(), call.reads[2].data()},
                    {call.reads[3].data(), gradient, in_packed(gradient)});
  }
}

// ---- Ring -----------------------------------------------------------------------------------------------------

/// body(piece) for all pieces of this rank's queries, with keys that another rank holds or itself.
template <class Body>
void for_ring_pieces(const Call& call, Body&& body) {
  const ContextOrder& order = call.state.order;
  const int own = call.state.place.context, contexts = order.contexts;
  const int owner = (own - number_of(call, kRing) + contexts) % contexts;
  const std::int64_t length = order.piece_length();
  for (std::int64_t sequence = 0; sequence < call.kernel<Attention>().batch; ++sequence) {
    for (int i = 0; i < order.pieces(); ++i) {
      Piece piece{
          .first_query = sequence * order.own() + i * length, .queries = length, .first_key = sequence * order.own()};
      for (int j = 0; j < order.pieces() && order.piece(owner, j) <= order.piece(own, i); ++j) {
        piece.keys += length;
        // Keys of the queries' own piece come last.
        piece.seen = order.piece(owner, j) == order.piece(own, i) ? piece.keys - length + 1 : piece.keys;
      }
      body(piece);
    }
  }
}

/// Behind the packed projection, if they are of another rank.
KeyRows ring_keys(const Call& call, const PackedRows& packed, std::size_t others) {
  return call.reads.size() > others ? alone(call.reads[others].data(), packed) : in_packed(packed);
}

/// {packed, keys and values of another rank if any} -> {context and, behind it, log-sums over these keys}
void run_ring(const Call& call) {
  const PackedRows packed(call.state, call.reads[0]);
  const std::int64_t heads = call.kernel<Attention>().heads;
  float* context = call.write(0, packed.rows * (packed.query_columns + heads));
  const Operands operands{packed, ring_keys(call, packed, 1), context, context + packed.rows * packed.query_columns};
  for_ring_pieces(call, [&](const Piece& piece) { attend(call, piece, operands); });
}

/// {packed, context, log-sums, gradient of context, keys and values of another rank if any} -> {gradients, packed}, or
/// the first time round {gradient of packed, travelling buffer with gradients of keys and values in its second half}
void run_ring_backward(const Call& call) {
  const PackedRows packed(call.state, call.reads[0]), gradient(call.state, call.writes[0]);
  clear(call.writes[0]);
  KeyRows key_gradients = in_packed(gradient);
  if (call.writes.size() > 1) {
    const std::span<float> travelling = call.writes[1].last(call.writes[1].size() / 2);
    clear(travelling);
    key_gradients = alone(travelling.data(), packed);
  }
  const Operands operands{packed, ring_keys(call, packed, 4), call.reads[1].data(), call.reads[2].data()};
  for_ring_pieces(call, [&](const Piece& piece) {
    attend_backward(call, piece, operands, {call.reads[3].data(), gradient, key_gradients});
  });
}

bool is_sum(const Operation& operation, std::string_view label) {
  return pass_of(operation, ElementwiseKind::kAdd) != nullptr && operation.origin.label == label;
}
bool fits_sum(const Operation& operation) { return is_sum(operation, "attention-sum"); }
bool fits_gradient_sum(const Operation& operation) { return is_sum(operation, "attention-gradient-sum"); }

/// {parts, context if it is there, keys and values that came last and packed if they change places} -> {context,
/// log-sums, packed}
void run_sum(const Call& call) {
  const auto& k = call.kernel<Elementwise>();
  const std::int64_t rows = k.elements / k.columns;
  const std::int64_t heads = static_cast<std::int64_t>(call.writes[1].size()) / rows;
  float *context = call.write(0, k.elements), *log_sums = call.write(1, rows * heads);
  const float* first = call.read(0, k.elements + rows * heads);
  std::copy_n(first, k.elements, context);
  std::copy_n(first + k.elements, rows * heads, log_sums);
  const auto parts = static_cast<std::size_t>(k.bytes_written / (k.elements * std::int64_t{sizeof(float)}));
  for (std::size_t i = 1; i < parts; ++i) {
    const float* part = call.read(i, k.elements + rows * heads);
    call.state.kernels.attention_merge(rows, heads, k.columns / heads, part, part + k.elements, context, log_sums);
  }
  if (call.writes.size() < 3) return;
  PackedRows(call.state, call.writes[2]).put_keys_and_values(call.reads[call.reads.size() - 2].data());
}

/// {gradients, packed; travelling buffer if there is something to add to; gradient of packed if there is one} ->
/// {gradient of packed, travelling buffer unless its gradients are back}
void run_gradient_sum(const Call& call) {
  const Operation& operation = call.operation;
  const bool begun = std::ranges::find(operation.reads, operation.writes[0]) != operation.reads.end();
  const bool arrived = call.reads.size() > (begun ? 2U : 1U), last = call.writes.size() == 1;
  const PackedRows part(call.state, call.reads[0]), packed(call.state, call.writes[0]);
  const std::int64_t queries = part.query_columns, width = part.keys_and_values();
  const float* before = arrived ? &call.reads[1][call.reads[1].size() / 2] : nullptr;
  const KeyRows to = last ? in_packed(packed) : alone(&call.writes[1][call.writes[1].size() / 2], packed);
  for (std::int64_t row = 0; row < part.rows; ++row) {
    const float* own = part.data + row * part.columns;
    float *query = packed.data + row * packed.columns, *key = to.keys + row * to.stride;
    for (std::int64_t i = 0; i < queries; ++i) query[i] = begun ? query[i] + own[i] : own[i];
    for (std::int64_t i = 0; i < width; ++i) {
      key[i] = before == nullptr ? own[queries + i] : before[row * width + i] + own[queries + i];
    }
  }
}

// ---- Gathered keys --------------------------------------------------------------------------------------------

/// body(piece): of every sequence the piece that the operation is about, with all keys up to its end.
template <class Body>
void for_gathered_pieces(const Call& call, Body&& body) {
  const ContextOrder& order = call.state.order;
  const int i = number_of(call, kGathered);
  const std::int64_t length = order.piece_length(), before = order.piece(call.state.place.context, i) * length;
  for (std::int64_t sequence = 0; sequence < call.kernel<Attention>().batch; ++sequence) {
    body(Piece{.first_query = sequence * order.own() + i * length,
               .queries = length,
               .first_key = sequence * order.sequence,
               .keys = before + length,
               .seen = before + 1});
  }
}

/// {packed, all keys and values in order} -> {context, log-sums}, or {log-sums} alone where they are computed again
void run_gathered(const Call& call) {
  const PackedRows packed(call.state, call.reads[0]);
  const std::int64_t size = packed.rows * packed.query_columns;
  float* log_sums = call.write(call.writes.size() - 1, packed.rows * call.kernel<Attention>().heads);
  float* context =
      call.writes.size() == 1 ? call.state.staging(static_cast<std::size_t>(size)).data() : call.write(0, size);
  const Operands operands{packed, alone(call.reads[1].data(), packed), context, log_sums};
  for_gathered_pieces(call, [&](const Piece& piece) { attend(call, piece, operands); });
}

/// {packed, all keys and values, context, log-sums, gradient of context} -> {gradient of packed, of all keys and
/// values}
void run_gathered_backward(const Call& call) {
  const PackedRows packed(call.state, call.reads[0]), gradient(call.state, call.writes[0]);
  if (number_of(call, kGathered) == 0) {
    clear(call.writes[0]);
    clear(call.writes[1]);
  }
  const Operands operands{packed, alone(call.reads[1].data(), packed), call.reads[2].data(), call.reads[3].data()};
  for_gathered_pieces(call, [&](const Piece& piece) {
    attend_backward(call, piece, operands, {call.reads[4].data(), gradient, alone(call.writes[1].data(), packed)});
  });
}

constexpr std::array<Binding, 8> kBindings{{
    {"attention, by blocks", "attention-heads", fits<kHeads, false>, run_heads},
    {"attention, by blocks", "attention-heads-backward", fits<kHeads, true>, run_heads_backward},
    {"attention, by blocks", "attention-ring-*", fits<kRing, false>, run_ring},
    {"attention, by blocks", "attention-ring-*-backward", fits<kRing, true>, run_ring_backward},
    {"attention, by blocks", "attention-gathered-*", fits<kGathered, false>, run_gathered},
    {"attention, by blocks", "attention-gathered-*-backward", fits<kGathered, true>, run_gathered_backward},
    {"elementwise add", "attention-sum", fits_sum, run_sum},
    {"elementwise add", "attention-gradient-sum", fits_gradient_sum, run_gradient_sum},
}};

}  // namespace

std::span<const Binding> context_bindings() { return kBindings; }

}  // namespace executor::cpu
