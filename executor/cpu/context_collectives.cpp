// What context ranks exchange: keys and values round the ring or to all, heads for tokens.
#include <algorithm>
#include <array>

#include "executor/cpu/collective_bindings.h"
#include "executor/cpu/packed_rows.h"

namespace executor::cpu {
namespace {

using strategies::Collective;
using strategies::Operation;
using Floats = std::span<float>;

std::span<std::byte> bytes_in(Floats floats) { return std::as_writable_bytes(floats); }

std::size_t floats_of(const Call& call) {
  return static_cast<std::size_t>(std::get<Collective>(call.operation.work).bytes.value()) / sizeof(float);
}

bool is_shift(const Operation& operation, std::string_view label) {
  return is_labelled(operation, CollectiveKind::kShiftNext, label) ||
         is_labelled(operation, CollectiveKind::kShiftPrevious, label);
}

void after_nothing(const Call& /*call*/, std::span<std::byte> /*data*/) {}

// ---- Ring. A travelling buffer holds keys and values, then, on the way back, their gradients. -------------------

bool fits_shift(const Operation& operation) { return is_shift(operation, "shift-keys-values"); }
bool fits_gradient_shift(const Operation& operation) { return is_shift(operation, "shift-gradients"); }
bool fits_shift_of_both(const Operation& operation) { return is_shift(operation, "shift-keys-values-gradients"); }

/// {packed projection, or keys and values} -> {keys and values}
std::span<std::byte> before_shift(const Call& call) {
  const std::size_t size = floats_of(call);
  if (call.reads[0].size() == size) return bytes_in(call.reads[0]);
  const PackedRows packed(call.state, call.reads[0]);
  const Floats rows = call.state.staging(size);
  require_floats(call, static_cast<std::size_t>(packed.rows * packed.keys_and_values()));
  packed.take_keys_and_values(rows.data());
  return bytes_in(rows);
}
std::span<std::byte> shifted(const Call& call) { return bytes_in(call.writes[0].first(floats_of(call))); }

/// {gradients behind keys and values} -> {the same}
std::span<std::byte> before_gradient_shift(const Call& call) { return bytes_in(call.reads[0].last(floats_of(call))); }
std::span<std::byte> shifted_gradients(const Call& call) { return bytes_in(call.writes[0].last(floats_of(call))); }

std::span<std::byte> before_shift_of_both(const Call& call) {
  require_floats(call, call.reads[0].size());
  return bytes_in(call.reads[0]);
}

// ---- All-gather -----------------------------------------------------------------------------------------------

bool fits_gather(const Operation& operation) {
  return is_labelled(operation, CollectiveKind::kAllGather, "gather-keys-values");
}
/// {packed projection} -> {the members' keys and values, one after the other}
std::span<std::byte> before_gather(const Call& call) {
  const Floats all = call.writes[0];
  require_floats(call, all.size());
  const Member member = member_of(call);
  PackedRows(call.state, call.reads[0]).take_keys_and_values(&all[member.own * (all.size() / member.count)]);
  return bytes_in(all);
}

bool fits_scatter(const Operation& operation) {
  return is_labelled(operation, CollectiveKind::kReduceScatter, "scatter-keys-values-gradients");
}
/// {gradients of all members' keys and values} -> {this member's, in the packed gradient}
std::span<std::byte> before_scatter(const Call& call) {
  require_floats(call, call.reads[0].size());
  return bytes_in(call.reads[0]);
}
void after_scatter(const Call& call, std::span<std::byte> /*data*/) {
  const Member member = member_of(call);
  const std::size_t share = call.reads[0].size() / member.count;
  PackedRows(call.state, call.writes[0]).put_keys_and_values(&call.reads[0][member.own * share]);
}

// ---- All-to-all -----------------------------------------------------------------------------------------------

bool fits_exchange(const Operation& operation) {
  return is_labelled(operation, CollectiveKind::kAllToAll, operation.origin.label) &&
         operation.origin.label.starts_with("exchange-");
}
std::span<std::byte> before_exchange(const Call& call) {
  require_floats(call, call.reads[0].size());
  return bytes_in(call.reads[0]);
}
std::span<std::byte> exchanged(const Call& call) { return bytes_in(call.writes[0]); }

constexpr CollectiveBinding exchange_binding(std::string_view kind, std::string_view label,
                                             bool (*fits)(const Operation&),
                                             std::span<std::byte> (*before)(const Call&),
                                             std::span<std::byte> (*received)(const Call&)) {
  CollectiveBinding binding{kind, label, fits, before, after_nothing};
  binding.received = received;
  return binding;
}

constexpr std::array<CollectiveBinding, 6> kBindings{{
    exchange_binding("shift", "shift-keys-values", fits_shift, before_shift, shifted),
    exchange_binding("shift", "shift-gradients", fits_gradient_shift, before_gradient_shift, shifted_gradients),
    exchange_binding("shift", "shift-keys-values-gradients", fits_shift_of_both, before_shift_of_both, shifted),
    {"all-gather", "gather-keys-values", fits_gather, before_gather, after_nothing},
    {"reduce-scatter", "scatter-keys-values-gradients", fits_scatter, before_scatter, after_scatter},
    exchange_binding("all-to-all", "exchange-*", fits_exchange, before_exchange, exchanged),
}};

}  // namespace

std::span<const CollectiveBinding> context_collective_bindings() { return kBindings; }

}  // namespace executor::cpu
