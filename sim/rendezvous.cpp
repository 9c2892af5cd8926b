#include "sim/rendezvous.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

namespace sim {
namespace {

using strategies::Collective;
using strategies::Program;
using strategies::Receive;
using strategies::Send;

/// One collective of a process over a joint group, in program order.
struct JointCall {
  Slot slot = 0;
  std::int64_t duration_ns = 0;
};

/// The classes that have ranks in the group of the representative of `process`, its own included, ascending.
std::vector<std::uint32_t> processes_in_group(const Program& program, const RankClasses& classes, std::uint32_t process,
                                              const strategies::Group& group) {
  std::vector<std::uint32_t> processes{process};
  const auto view = static_cast<std::size_t>(group.view);
  for (const strategies::Rank rank : group.members(program.views[view], classes.all[process].representative)) {
    processes.push_back(classes.of_rank[static_cast<std::size_t>(rank.value)]);
  }
  std::ranges::sort(processes);
  processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
  return processes;
}

constexpr auto kNoCrowd = std::numeric_limits<std::uint32_t>::max();

/// Who meets in the groups of every family. Processes that meet the same ones share a crowd: every rank of a large
/// group by itself would list it otherwise.
struct Crowds {
  std::vector<std::vector<std::uint32_t>> processes;  ///< by crowd: ascending
  std::vector<std::vector<std::uint32_t>> of;         ///< by group and process; kNoCrowd: no collective over it
};

Crowds find_crowds(const Program& program, const RankClasses& classes) {
  Crowds crowds;
  crowds.of.assign(program.groups.size(), std::vector<std::uint32_t>(classes.size(), kNoCrowd));
  std::map<std::vector<std::uint32_t>, std::uint32_t> numbers;
  for (std::uint32_t process = 0; process < classes.size(); ++process) {
    for (const strategies::Block& block : program.roles[classes.all[process].role].blocks) {
      for (const strategies::Operation& operation : block.operations) {
        const auto* collective = std::get_if<Collective>(&operation.work);
        if (collective == nullptr || crowds.of[collective->group.value][process] != kNoCrowd) continue;
        const auto next = static_cast<std::uint32_t>(numbers.size());
        const auto [known, is_new] = numbers.try_emplace(
            processes_in_group(program, classes, process, program.groups[collective->group.value]), next);
        if (is_new) crowds.processes.push_back(known->first);
        crowds.of[collective->group.value][process] = known->second;
      }
    }
  }
  return crowds;
}

Meeting meeting_of(const strategies::Operation& operation, const std::vector<bool>& joint) {
  if (std::holds_alternative<Send>(operation.work)) return Meeting::kSend;
  if (std::holds_alternative<Receive>(operation.work)) return Meeting::kReceive;
  const auto* collective = std::get_if<Collective>(&operation.work);
  return collective != nullptr && joint[collective->group.value] ? Meeting::kJoint : Meeting::kNone;
}

/// Calls visit(process, action index, action, operation index) for every operation of one step.
template <class Visit>
void for_each_operation(const Program& program, const RankClasses& classes, Visit&& visit) {
  for (std::uint32_t process = 0; process < classes.size(); ++process) {
    const strategies::Role& what = program.roles[classes.all[process].role];
    for (std::uint32_t action = 0; action < what.schedule.size(); ++action) {
      const std::size_t operations = what.blocks[what.schedule[action].block].operations.size();
      for (std::uint32_t i = 0; i < operations; ++i) visit(process, action, what.schedule[action], i);
    }
  }
}

}  // namespace

void Rendezvous::number_meetings(const Program& program, const std::vector<bool>& joint) {
  for (const strategies::Role& role : program.roles) {
    std::vector<BlockMeetings>& blocks = blocks_.emplace_back();
    for (const strategies::Block& block : role.blocks) {
      BlockMeetings& meetings = blocks.emplace_back();
      for (const strategies::Operation& operation : block.operations) {
        meetings.meetings.push_back(meeting_of(operation, joint));
        meetings.index.push_back(meetings.count);
        if (meetings.meetings.back() != Meeting::kNone) ++meetings.count;
      }
    }
  }
}

void Rendezvous::number_slots(const Program& program) {
  Slot next = 0;
  for (const std::uint32_t role : roles_) {
    std::vector<Slot>& first = first_slot_.emplace_back();
    for (const strategies::Action& action : program.roles[role].schedule) {
      first.push_back(next);
      next += blocks_[role][action.block].count;
    }
    role_.resize(next, role);
  }
  duration_.resize(next);
  awaited_of_.resize(next);
}

/// What can be met, found in a first pass over the operations; a second one connects.
struct Rendezvous::Meeters {
  Meeters(const Program& program, const RankClasses& classes)
      : crowds(find_crowds(program, classes)), joint(program.groups.size()), met(program.groups.size()) {
    for (std::size_t g = 0; g < joint.size(); ++g) {
      joint[g] = std::ranges::any_of(crowds.of[g], [this](std::uint32_t crowd) {
        return crowd != kNoCrowd && crowds.processes[crowd].size() > 1;
      });
      met[g].resize(crowds.processes.size());
    }
    calls.resize(joint.size(), std::vector<std::vector<JointCall>>(classes.size()));
    connected.resize(joint.size(), std::vector<std::size_t>(classes.size()));
  }

  /// The n-th collective of a crowd.
  struct Met {
    Awaited awaited;
    std::int64_t duration_ns = 0;
  };

  Crowds crowds;
  std::vector<bool> joint;                                 ///< by group
  std::vector<std::vector<std::vector<Met>>> met;          ///< by group and crowd
  std::vector<std::pair<MessageKey, Slot>> sends;          ///< sorted
  std::vector<std::vector<std::vector<JointCall>>> calls;  ///< by group and process
  std::vector<std::vector<std::size_t>> connected;         ///< by group and process: how many of `calls`
};

Rendezvous::Rendezvous(const Program& program, const Prices& prices) {
  for (const RankClass& each : prices.classes.all) roles_.push_back(each.role);
  Meeters meeters(program, prices.classes);
  number_meetings(program, meeters.joint);
  number_slots(program);
  for_each_operation(
      program, prices.classes,
      [&](std::uint32_t process, std::uint32_t index, const strategies::Action& action, std::uint32_t i) {
        if (meeting(roles_[process], action.block, i) == Meeting::kNone) return;
        const strategies::Block& block = program.roles[roles_[process]].blocks[action.block];
        const Slot own = slot(process, index, action.block, i);
        if (const auto* send = std::get_if<Send>(&block.operations[i].work)) {
          const MessageKey key{process, action.microbatch, block.virtual_stage, send->virtual_stage,
                               static_cast<int>(send->payload)};
          meeters.sends.emplace_back(key, own);
        } else if (const auto* collective = std::get_if<Collective>(&block.operations[i].work)) {
          meeters.calls[collective->group.value][process].push_back(
              {own, prices.at(process, action.block, {i}).duration_ns});
        }
      });
  std::ranges::sort(meeters.sends);
  connect(program, prices.classes, meeters);
}

void Rendezvous::connect(const Program& program, const RankClasses& classes, Meeters& meeters) {
  for_each_operation(
      program, classes,
      [&](std::uint32_t process, std::uint32_t index, const strategies::Action& action, std::uint32_t i) {
        if (meeting(roles_[process], action.block, i) == Meeting::kNone) return;
        const strategies::Block& block = program.roles[roles_[process]].blocks[action.block];
        if (const auto* receive = std::get_if<Receive>(&block.operations[i].work)) {
          const strategies::Rank peer = program.peer(classes.all[process].representative, receive->virtual_stage);
          const std::uint32_t sender = classes.of_rank[static_cast<std::size_t>(peer.value)];
          awaited_of_[slot(process, index, action.block, i)] = {awaited_.size(), 1};
          awaited_.push_back(sender_of(meeters, {sender, action.microbatch, receive->virtual_stage, block.virtual_stage,
                                                 static_cast<int>(receive->payload)}));
        } else if (const auto* collective = std::get_if<Collective>(&block.operations[i].work)) {
          connect_joint(program, meeters, process, collective->group.value);
        }
      });
}

Slot Rendezvous::sender_of(const Meeters& meeters, const MessageKey& key) const {
  const auto found = std::ranges::lower_bound(meeters.sends, key, {}, &std::pair<MessageKey, Slot>::first);
  if (found == meeters.sends.end() || found->first != key) {
    throw std::invalid_argument("nobody sends microbatch " + std::to_string(std::get<1>(key)) + " from virtual stage " +
                                std::to_string(std::get<2>(key)) + " to " + std::to_string(std::get<3>(key)));
  }
  return found->second;
}

/// The n-th collective of a process over a group meets the n-th of each other process in it.
void Rendezvous::connect_joint(const Program& program, Meeters& meeters, std::uint32_t process, std::uint32_t group) {
  const std::size_t nth = meeters.connected[group][process]++;
  const std::uint32_t crowd = meeters.crowds.of[group][process];
  std::vector<Meeters::Met>& met = meeters.met[group][crowd];
  if (nth == met.size()) {
    const std::vector<std::uint32_t>& members = meeters.crowds.processes[crowd];
    Meeters::Met& next = met.emplace_back();
    next.awaited = {awaited_.size(), static_cast<std::uint32_t>(members.size())};
    for (const std::uint32_t member : members) {
      const std::vector<JointCall>& calls = meeters.calls[group][member];
      if (nth >= calls.size()) {
        throw std::invalid_argument("role " + program.roles[roles_[member]].name + " misses collective " +
                                    std::to_string(nth) + " of group " + program.groups[group].name);
      }
      awaited_.push_back(calls[nth].slot);
      next.duration_ns = std::max(next.duration_ns, calls[nth].duration_ns);
    }
  }
  const Slot own = meeters.calls[group][process][nth].slot;
  awaited_of_[own] = met[nth].awaited;
  duration_[own] = met[nth].duration_ns;
}

std::int64_t input_ready_ns(const Prices& prices, std::int64_t samples) {
  if (prices.input_samples_per_ns <= 0) return 0;
  const double ns = std::ceil(static_cast<double>(samples) / prices.input_samples_per_ns);
  constexpr double kMost = 4e18;  // below the largest 64-bit integer
  return static_cast<std::int64_t>(std::min(ns, kMost));
}

}  // namespace sim
