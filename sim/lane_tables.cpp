#include "sim/lane_tables.h"

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
  result.duration_ns = price.duration_ns;
  result.load = price.load;
  result.bound = price.bound;
  result.lane = operation.lane;
  result.meeting = meeting;
  result.running = running_kind(operation);
  result.kernel = std::holds_alternative<strategies::Compute>(operation.work) && result.on_compute();
  result.exchange = std::holds_alternative<strategies::Collective>(operation.work) && meeting == Meeting::kNone &&
                    operation.lane == strategies::Lane::kTensor;
  if (meeting == Meeting::kReceive) result.waiting = TimeKind::kBubble;
  if (meeting == Meeting::kJoint) result.waiting = TimeKind::kImbalance;
  const Host* host = std::get_if<Host>(&operation.work);
  if (host == nullptr) return result;
  result.host = true;
  result.waiting = TimeKind::kDataStall;
  result.input = limited && host->reason == HostReason::kInput;
  result.samples = host->samples;
  const bool synchronises = host->reason != HostReason::kStepOverhead && host->reason != HostReason::kInput;
  result.drains = synchronises && operation.after.empty();
  return result;
}

FlatBlock flat_block(const strategies::Program& program, std::uint32_t process, std::uint32_t b, const Prices& prices,
                     const Rendezvous& rendezvous) {
  const std::uint32_t role = prices.classes.all[process].role;
  const strategies::Block& what = program.roles[role].blocks[b];
  FlatBlock block;
  block.section_ns.push_back(0);
  for (std::uint32_t i = 0; i < what.operations.size(); ++i) {
    const strategies::Operation& operation = what.operations[i];
    const OperationPrice& price = prices.at(process, b, {i});
    FlatOperation& added = block.operations.emplace_back(
        flat(operation, price, rendezvous.meeting(role, b, i), prices.input_samples_per_ns > 0));
    block.on_lane[static_cast<std::size_t>(added.lane)].push_back(i);
    added.section = static_cast<std::uint32_t>(block.hosts.size());
    if (added.host) {
      block.hosts.push_back(i);
      block.section_ns.push_back(0);
    } else {
      added.issued_ns = block.section_ns.back() += price.issue_ns;
    }
    added.first_after = static_cast<std::uint32_t>(block.after.size());
    for (const strategies::OperationId earlier : operation.after) {
      if (what.operations[earlier.value].lane != operation.lane) block.after.push_back(earlier.value);
    }
    added.after_count = static_cast<std::uint32_t>(block.after.size()) - added.first_after;
  }
  return block;
}

/// Fills in what follows from the block and the dependents.
CallShape completed(CallShape shape, const FlatBlock& block) {
  shape.run.assign(block.operations.size(), 1);
  for (std::uint32_t i = static_cast<std::uint32_t>(block.operations.size()); i-- > 1;) {
    const FlatOperation& before = block.operations[i - 1];
    const FlatOperation& what = block.operations[i];
    const bool follows = what.lane == before.lane ? what.after_count == 0
                                                  : what.after_count == 1 && block.after[what.first_after] == i - 1;
    const bool continues = (before.kernel || before.exchange) && (what.kernel || what.exchange) && follows &&
                           block.last_namer[i - 1] <= i && !shape.names(i);
    if (continues) shape.run[i - 1] = shape.run[i] + 1;
  }
  return shape;
}

}  // namespace

const SerialStretch* FlatBlock::stretch_at(std::uint32_t operation) const {
  const auto next = std::ranges::upper_bound(stretches, operation, {}, &SerialStretch::first);
  if (next == stretches.begin()) return nullptr;
  const SerialStretch& found = *(next - 1);
  return operation < found.last ? &found : nullptr;
}

bool CallShape::names(std::uint32_t operation) const { return std::ranges::binary_search(dependents, operation); }

FlatProcess::FlatProcess(const strategies::Program& program, std::uint32_t process, const Prices& prices,
                         const Rendezvous& rendezvous) {
  const strategies::Role& role = program.roles[prices.classes.all[process].role];
  for (std::uint32_t b = 0; b < role.blocks.size(); ++b) {
    blocks.push_back(flat_block(program, process, b, prices, rendezvous));
  }
  name_operations(role);
  for (FlatBlock& block : blocks) block.stretches = serial_stretches(block);
  add_calls(role);
}

void FlatProcess::name_operations(const strategies::Role& role) {
  const auto give_name = [](FlatBlock& block, std::uint32_t operation) {
    std::int32_t& named = block.operations[operation].named;
    if (named < 0) named = static_cast<std::int32_t>(block.named++);
  };
  for (FlatBlock& block : blocks) {
    block.last_namer.resize(block.operations.size(), 0);
    for (std::uint32_t i = 0; i < block.operations.size(); ++i) {
      const FlatOperation& what = block.operations[i];
      for (std::uint32_t k = what.first_after; k < what.first_after + what.after_count; ++k) {
        give_name(block, block.after[k]);
        block.last_namer[block.after[k]] = i;
      }
    }
  }
  for (const strategies::Action& action : role.schedule) {
    for (const strategies::CrossDependence& d : action.after) {
      FlatBlock& block = blocks[role.schedule[d.action].block];
      give_name(block, d.operation.value);
      block.last_namer[d.operation.value] = FlatBlock::kAnotherCall;
    }
  }
}

void FlatProcess::add_calls(const strategies::Role& role) {
  std::uint32_t operations = 0;
  for (std::uint32_t action = 0; action < role.schedule.size(); ++action) {
    const FlatBlock& block = blocks[role.schedule[action].block];
    calls.push_back({role.schedule[action].block, 0, ends, sections, operations, {}});
    ends += block.named;
    sections += static_cast<std::uint32_t>(block.section_ns.size());
    operations += static_cast<std::uint32_t>(block.operations.size());
    for (std::size_t lane = 0; lane < calls_of.size(); ++lane) {
      if (!block.on_lane[lane].empty()) calls_of[lane].push_back(action);
    }
  }
  std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::uint32_t> known;
  for (std::size_t a = 0; a < calls.size(); ++a) {
    FlatCall& call = calls[a];
    for (const strategies::CrossDependence& d : role.schedule[a].after) {
      const FlatOperation& named = blocks[calls[d.action].block].operations[d.operation.value];
      call.needed.push_back(
          {d.dependent.value, d.steps_back, calls[d.action].first_end + static_cast<std::uint32_t>(named.named)});
    }
    std::ranges::stable_sort(call.needed, {}, &Needed::dependent);
    CallShape shape;
    for (const Needed& needed : call.needed) shape.dependents.push_back(needed.dependent);
    const auto [found, added] =
        known.try_emplace({call.block, shape.dependents}, static_cast<std::uint32_t>(shapes.size()));
    if (added) shapes.push_back(completed(std::move(shape), blocks[call.block]));
    call.shape = found->second;
  }
}

}  // namespace sim
