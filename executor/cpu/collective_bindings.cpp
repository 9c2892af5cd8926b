#include "executor/cpu/collective_bindings.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <variant>
#include <vector>

namespace executor::cpu {
namespace {

using strategies::Collective;
using strategies::Operation;
using Floats = std::span<float>;

const Collective& collective_of(const Call& call) { return std::get<Collective>(call.operation.work); }

std::size_t floats_of(const Call& call) {
  return static_cast<std::size_t>(collective_of(call).bytes.value()) / sizeof(float);
}

std::size_t total(std::span<const Floats> parts) {
  std::size_t sum = 0;
  for (const Floats part : parts) sum += part.size();
  return sum;
}

std::span<std::byte> bytes_in(Floats floats) { return std::as_writable_bytes(floats); }
Floats floats_in(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

void copy(Floats from, Floats to) { std::copy(from.begin(), from.end(), to.begin()); }

bool in_place(const Operation& operation) {
  return operation.writes.size() >= operation.reads.size() &&
         std::equal(operation.reads.begin(), operation.reads.end(), operation.writes.begin());
}

bool is_kind(const Operation& operation, CollectiveKind kind) {
  const auto* collective = std::get_if<Collective>(&operation.work);
  return collective != nullptr && collective->kind == kind && collective->dtype == hw_models::DType::kFp32;
}

// ---- All-reduce of buffers in place ---------------------------------------------------------------------------

bool fits_all_reduce(const Operation& operation) {
  return is_kind(operation, CollectiveKind::kAllReduce) && operation.reads == operation.writes;
}

/// Buffers by address; one range if they lie together.
std::vector<Floats> by_address(std::span<const Floats> buffers) {
  std::vector<Floats> sorted(buffers.begin(), buffers.end());
  std::ranges::sort(sorted, {}, [](Floats f) { return f.data(); });
  return sorted;
}

bool lie_together(std::span<const Floats> sorted) {
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
    if (sorted[i].data() + sorted[i].size() != sorted[i + 1].data()) return false;
  }
  return true;
}

/// all = the parts one after the other
void join(std::span<const Floats> parts, Floats all) {
  std::size_t used = 0;
  for (const Floats part : parts) {
    copy(part, all.subspan(used));
    used += part.size();
  }
}

std::span<std::byte> before_all_reduce(const Call& call) {
  const std::vector<Floats> parts = by_address(call.writes);
  require_floats(call, total(parts));
  if (lie_together(parts)) return bytes_in({parts.front().data(), total(parts)});
  const Floats all = call.state.staging(total(parts));
  join(parts, all);
  return bytes_in(all);
}

void after_all_reduce(const Call& call, std::span<std::byte> data) {
  const std::vector<Floats> parts = by_address(call.writes);
  const Floats all = floats_in(data);
  if (all.data() == parts.front().data()) return;
  std::size_t used = 0;
  for (const Floats part : parts) {
    copy(all.subspan(used, part.size()), part);
    used += part.size();
  }
}

// ---- The loss over split columns: maximum, then target and sum ------------------------------------------------

template <char first>  // of "loss-maximum", "loss-target", "loss-sum", behind the dash
bool fits_loss(const Operation& operation) {
  constexpr std::string_view kPrefix = "loss-";
  const std::string& label = operation.origin.label;
  return fits_all_reduce(operation) && label.starts_with(kPrefix) && label[kPrefix.size()] == first;
}

CrossEntropyRows<float> rows_of(const Call& call) { return call.state.loss_rows.at(call.microbatch).view(); }

std::span<std::byte> before_loss(const Call& call, float* row) { return bytes_in({row, floats_of(call)}); }
std::span<std::byte> before_maximum(const Call& call) { return before_loss(call, rows_of(call).maximum); }
std::span<std::byte> before_target(const Call& call) { return before_loss(call, rows_of(call).target); }
std::span<std::byte> before_sum(const Call& call) { return before_loss(call, rows_of(call).sum); }

/// Nothing but the number of rows matters to what happens to them.
CrossEntropyShape row_shape(const Call& call) { return {.tokens = static_cast<std::int64_t>(floats_of(call))}; }
void after_maximum(const Call& call, std::span<std::byte> /*data*/) {
  call.state.kernels.cross_entropy_rescale(row_shape(call), rows_of(call));
}
void after_target(const Call& /*call*/, std::span<std::byte> /*data*/) {}
void after_sum(const Call& call, std::span<std::byte> /*data*/) {
  call.state.loss_sum += call.state.kernels.cross_entropy_loss(row_shape(call), rows_of(call));
}

// ---- The gradient norm: one double ----------------------------------------------------------------------------

bool fits_norm(const Operation& operation) {
  return fits_all_reduce(operation) && operation.origin.label == "reduce-gradient-norm";
}
std::span<std::byte> before_norm(const Call& call) { return bytes_in(call.writes[0]); }
void after_norm(const Call& /*call*/, std::span<std::byte> /*data*/) {}

// ---- Gather and scatter of the residual stream ----------------------------------------------------------------

bool fits_gather(const Operation& operation) {
  return is_kind(operation, CollectiveKind::kAllGather) && !in_place(operation);
}

/// {share} -> {the members' shares one after the other}
std::span<std::byte> before_gather(const Call& call) {
  const Floats share = call.reads[0], all = call.writes[0];
  require_floats(call, all.size());
  const Member member = member_of(call);
  copy(share, all.subspan(member.own * (all.size() / member.count)));
  return bytes_in(all);
}
void after_gather(const Call& /*call*/, std::span<std::byte> /*data*/) {}

bool fits_scatter(const Operation& operation) {
  return is_kind(operation, CollectiveKind::kReduceScatter) && !in_place(operation);
}

/// {sums} -> {this member's share of their total}; the operation frees the sums, which are overwritten
std::span<std::byte> before_scatter(const Call& call) {
  require_floats(call, call.reads[0].size());
  return bytes_in(call.reads[0]);
}
void after_scatter(const Call& call, std::span<std::byte> data) {
  const Member member = member_of(call);
  const Floats all = floats_in(data);
  const std::size_t share = all.size() / member.count;
  copy(all.subspan(member.own * share, share), call.writes[0]);
}

// ---- ZeRO: pieces of parameters -------------------------------------------------------------------------------

std::size_t padded_total(const Pieces& pieces, std::span<const Floats> parts) {
  std::size_t sum = 0;
  for (const Floats part : parts) sum += pieces.padded_size(part.size());
  return sum;
}

/// block = member j's piece of every part, each padded to equal size
void lay_pieces(const Pieces& pieces, std::span<const Floats> parts, int j, Floats block) {
  std::size_t at = 0;
  for (const Floats part : parts) {
    const Pieces::Range range = pieces.piece(part.size(), j);
    const std::size_t padded = pieces.padded_size(part.size());
    copy(part.subspan(range.begin, range.size()), block.subspan(at));
    std::ranges::fill(block.subspan(at + range.size(), padded - range.size()), 0.0F);
    at += padded;
  }
}

/// The reverse.
void take_pieces(const Pieces& pieces, std::span<const Floats> parts, int j, Floats block) {
  std::size_t at = 0;
  for (const Floats part : parts) {
    const Pieces::Range range = pieces.piece(part.size(), j);
    copy(block.subspan(at, range.size()), part.subspan(range.begin, range.size()));
    at += pieces.padded_size(part.size());
  }
}

/// Of `all`, the members' blocks one after the other.
Floats block_of(const Pieces& pieces, Floats all, int j) {
  const std::size_t block = all.size() / static_cast<std::size_t>(pieces.count);
  return all.subspan(block * static_cast<std::size_t>(j), block);
}
Floats own_block(const Call& call, Floats all) { return block_of(call.state.pieces, all, call.state.pieces.own); }

/// Room for the blocks of all members, `block` elements each.
Floats staged_blocks(const Call& call, std::size_t block) {
  const std::size_t all = block * static_cast<std::size_t>(call.state.pieces.count);
  require_floats(call, all);
  return call.state.staging(all);
}

void take_all_pieces(const Call& call, std::span<const Floats> parts, Floats all) {
  const Pieces& pieces = call.state.pieces;
  for (int j = 0; j < pieces.count; ++j) take_pieces(pieces, parts, j, block_of(pieces, all, j));
}

bool fits_sharded_reduce(const Operation& operation) {
  return is_kind(operation, CollectiveKind::kReduceScatter) && in_place(operation);
}
std::span<std::byte> before_sharded_reduce(const Call& call) {
  const Pieces& pieces = call.state.pieces;
  const Floats all = staged_blocks(call, padded_total(pieces, call.reads));
  for (int j = 0; j < pieces.count; ++j) lay_pieces(pieces, call.reads, j, block_of(pieces, all, j));
  return bytes_in(all);
}
void after_sharded_reduce(const Call& call, std::span<std::byte> data) {
  take_pieces(call.state.pieces, call.reads, call.state.pieces.own, own_block(call, floats_in(data)));
}

bool fits_parameter_gather(const Operation& operation) {
  return is_kind(operation, CollectiveKind::kAllGather) && in_place(operation);
}
std::span<std::byte> before_parameter_gather(const Call& call) {
  const Floats all = staged_blocks(call, padded_total(call.state.pieces, call.reads));
  lay_pieces(call.state.pieces, call.reads, call.state.pieces.own, own_block(call, all));
  return bytes_in(all);
}
/// In place; what else it writes are copies that only the memory model asks for.
void after_parameter_gather(const Call& call, std::span<std::byte> data) {
  take_all_pieces(call, call.reads, floats_in(data));
}

// ---- ZeRO 2 and 3: pieces in buffers of their own -------------------------------------------------------------

void add_to(std::span<const Floats> shards, Floats block) {
  std::size_t at = 0;
  for (const Floats shard : shards) {
    for (std::size_t i = 0; i < shard.size(); ++i) shard[i] += block[at + i];
    at += shard.size();
  }
}

bool fits_sharding(const Operation& operation) {
  return is_labelled(operation, CollectiveKind::kReduceScatter, "shard-gradients");
}
/// {gradients} -> {this member's pieces}, to which their sum is added
void after_sharding(const Call& call, std::span<std::byte> data) {
  add_to(call.writes, own_block(call, floats_in(data)));
}

bool fits_scattering(const Operation& operation) {
  return is_labelled(operation, CollectiveKind::kReduceScatter, "scatter-gradients");
}
/// {gradients} -> {this member's pieces of their sum, one after the other}
void after_scattering(const Call& call, std::span<std::byte> data) {
  copy(own_block(call, floats_in(data)), call.writes[0]);
}

bool fits_replicated_sharding(const Operation& operation) {
  return is_labelled(operation, CollectiveKind::kAllReduce, "shard-gradients");
}
/// {pieces, one after the other} -> {the same pieces}, to which their sum is added
void after_replicated_sharding(const Call& call, std::span<std::byte> data) { add_to(call.writes, floats_in(data)); }

bool fits_piece_reduce(const Operation& operation) {
  return is_labelled(operation, CollectiveKind::kAllReduce, "reduce-pieces");
}
/// This member's pieces of {gradients}, in place
std::span<std::byte> before_piece_reduce(const Call& call) {
  const Pieces& pieces = call.state.pieces;
  const std::size_t size = padded_total(pieces, call.reads);
  require_floats(call, size);
  const Floats block = call.state.staging(size);
  lay_pieces(pieces, call.reads, pieces.own, block);
  return bytes_in(block);
}
void after_piece_reduce(const Call& call, std::span<std::byte> data) {
  take_pieces(call.state.pieces, call.writes, call.state.pieces.own, floats_in(data));
}

bool fits_weight_gather(const Operation& operation) {
  return is_labelled(operation, CollectiveKind::kAllGather, "gather-weights");
}
/// {this member's pieces} -> {weights}
std::span<std::byte> before_weight_gather(const Call& call) {
  const Floats all = staged_blocks(call, total(call.reads));
  join(call.reads, own_block(call, all));
  return bytes_in(all);
}
void after_weight_gather(const Call& call, std::span<std::byte> data) {
  take_all_pieces(call, call.writes, floats_in(data));
}

constexpr std::array<CollectiveBinding, 14> kBindings{{
    {"all-reduce", "loss-maximum", fits_loss<'m'>, before_maximum, after_maximum, Element::kFloat32, Reduction::kMax},
    {"all-reduce", "loss-target", fits_loss<'t'>, before_target, after_target},
    {"all-reduce", "loss-sum", fits_loss<'s'>, before_sum, after_sum},
    {"all-reduce", "reduce-gradient-norm", fits_norm, before_norm, after_norm, Element::kFloat64},
    {"all-reduce", "shard-gradients", fits_replicated_sharding, before_scatter, after_replicated_sharding},
    {"all-reduce", "reduce-pieces", fits_piece_reduce, before_piece_reduce, after_piece_reduce},
    {"all-reduce", "", fits_all_reduce, before_all_reduce, after_all_reduce},
    {"all-gather", "gather-weights", fits_weight_gather, before_weight_gather, after_weight_gather},
    {"reduce-scatter", "shard-gradients", fits_sharding, before_sharded_reduce, after_sharding},
    {"reduce-scatter", "scatter-gradients", fits_scattering, before_sharded_reduce, after_scattering},
    {"all-gather", "gather-sequence, gather-message", fits_gather, before_gather, after_gather},
    {"reduce-scatter", "scatter-sequence", fits_scatter, before_scatter, after_scatter},
    {"reduce-scatter", "reduce-gradients", fits_sharded_reduce, before_sharded_reduce, after_sharded_reduce},
    {"all-gather", "gather-parameters", fits_parameter_gather, before_parameter_gather, after_parameter_gather},
}};

}  // namespace

Member member_of(const Call& call) {
  const strategies::Group& group = call.state.program.groups[collective_of(call).group.value];
  const auto members =
      group.members(call.state.program.views[static_cast<std::size_t>(group.view)], call.state.place.rank);
  const auto own = std::ranges::find(members, call.state.place.rank);
  return {static_cast<std::size_t>(own - members.begin()), members.size()};
}

void require_floats(const Call& call, std::size_t floats) {
  if (floats == floats_of(call)) return;
  throw std::logic_error("collective '" + call.operation.origin.label + "' moves " +
                         std::to_string(collective_of(call).bytes.value()) + " bytes, its operands have " +
                         std::to_string(floats * sizeof(float)));
}

bool is_labelled(const Operation& operation, CollectiveKind kind, std::string_view label) {
  return is_kind(operation, kind) && operation.origin.label == label;
}

const CollectiveBinding* find_collective_binding(const Operation& operation) {
  for (const auto& bindings : {context_collective_bindings(), std::span<const CollectiveBinding>(kBindings)}) {
    const auto found =
        std::ranges::find_if(bindings, [&](const CollectiveBinding& each) { return each.fits(operation); });
    if (found != bindings.end()) return &*found;
  }
  return nullptr;
}

}  // namespace executor::cpu
