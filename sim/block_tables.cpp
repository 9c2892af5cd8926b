#include "sim/block_tables.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <variant>

namespace sim {
namespace {

using strategies::Host;
using strategies::HostReason;

FlatOperation flat(const strategies::Operation& operation, const OperationPrice& price, Meeting meeting, bool limited) {
  FlatOperation result;
  result.issue_ns = price.issue_ns;
  result.duration_ns = price.duration_ns;
  result.after_count = static_cast<std::uint32_t>(operation.after.size());
  result.lane = operation.lane;
  result.meeting = meeting;
  result.running = running_kind(operation);
  if (meeting == Meeting::kReceive) result.waiting = TimeKind::kBubble;
  if (meeting == Meeting::kJoint) result.waiting = TimeKind::kImbalance;
  const Host* host = std::get_if<Host>(&operation.work);
  if (host == nullptr) return result;
  result.host = true;
  result.issue_ns = 0;
  result.waiting = TimeKind::kDataStall;
  result.input = limited && host->reason == HostReason::kInput;
  result.samples = host->samples;
  const bool synchronises = host->reason != HostReason::kStepOverhead && host->reason != HostReason::kInput;
  result.drains = synchronises && operation.after.empty();
  return result;
}

/// Fills in what follows from the block and the dependents.
CallShape completed(CallShape shape, const FlatBlock& block) {
  std::array<bool, strategies::kLanes> used{};
  shape.repeatable = !block.operations.empty();
  for (std::uint32_t i = 0; i < block.operations.size(); ++i) {
    const FlatOperation& operation = block.operations[i];
    used[static_cast<std::size_t>(operation.lane)] = true;
    if (operation.meeting == Meeting::kReceive) shape.receives.push_back(i);
    if (operation.meeting == Meeting::kJoint || operation.input) shape.repeatable = false;
    if (operation.drains && !shape.names(i)) used.fill(true);
  }
  used[static_cast<std::size_t>(strategies::Lane::kCompute)] = false;
  for (std::size_t lane = 0; lane < used.size(); ++lane) {
    if (used[lane]) shape.lanes.push_back(static_cast<strategies::Lane>(lane));
  }
  return shape;
}

}  // namespace

bool CallShape::names(std::uint32_t operation) const { return std::ranges::binary_search(dependents, operation); }

FlatProcess::FlatProcess(const strategies::Program& program, std::uint32_t process, const Prices& prices,
                         const Rendezvous& rendezvous) {
  const std::uint32_t role = prices.classes.all[process].role;
  const strategies::Role& what = program.roles[role];
  for (std::uint32_t b = 0; b < what.blocks.size(); ++b) {
    FlatBlock& block = blocks.emplace_back();
    for (std::uint32_t i = 0; i < what.blocks[b].operations.size(); ++i) {
      const strategies::Operation& operation = what.blocks[b].operations[i];
      block.operations.push_back(
          flat(operation, prices.at(process, b, {i}), rendezvous.meeting(role, b, i), prices.input_samples_per_ns > 0));
      block.operations.back().first_after = static_cast<std::uint32_t>(block.after.size());
      for (const strategies::OperationId earlier : operation.after) block.after.push_back(earlier.value);
    }
  }
  for (const strategies::Action& action : what.schedule) {
    for (const strategies::CrossDependence& d : action.after) {
      FlatBlock& block = blocks[what.schedule[d.action].block];
      std::int32_t& exported = block.operations[d.operation.value].exported;
      if (exported < 0) exported = static_cast<std::int32_t>(block.exports++);
    }
  }
  for (const strategies::Action& action : what.schedule) {
    calls.push_back({action.block, 0, exports, operations, {}});
    exports += blocks[action.block].exports;
    operations += static_cast<std::uint32_t>(blocks[action.block].operations.size());
  }
  std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::uint32_t> known;
  for (std::size_t a = 0; a < calls.size(); ++a) {
    FlatCall& call = calls[a];
    for (const strategies::CrossDependence& d : what.schedule[a].after) {
      const FlatOperation& named = blocks[calls[d.action].block].operations[d.operation.value];
      call.needed.push_back(
          {d.dependent.value, d.steps_back, calls[d.action].first_export + static_cast<std::uint32_t>(named.exported)});
    }
    std::ranges::stable_sort(call.needed, {}, &Needed::dependent);
    CallShape shape;
    shape.block = call.block;
    for (const Needed& needed : call.needed) shape.dependents.push_back(needed.dependent);
    const auto [found, added] =
        known.try_emplace({shape.block, shape.dependents}, static_cast<std::uint32_t>(shapes.size()));
    if (added) shapes.push_back(completed(std::move(shape), blocks[call.block]));
    call.shape = found->second;
  }
}

}  // namespace sim
