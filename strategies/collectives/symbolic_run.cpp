#include "strategies/collectives/symbolic_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <numeric>
#include <stdexcept>

#include "strategies/collectives/symbol.h"

namespace strategies {
namespace {

constexpr std::size_t kMaxFindings = 10;
constexpr std::int64_t kMaxParts = 1'000'000;

struct Message {
  std::vector<Symbol> symbols;
  int hops = 0, far_hops = 0;  ///< when it arrives
};

struct Lane;

struct Connection {
  std::deque<Message> waiting;
  const Lane *sender = nullptr, *receiver = nullptr;
};

struct LaneStep {
  const Step* step = nullptr;
  Connection* connection = nullptr;  ///< of messages
};

/// One (member, channel, lane): steps in order.
struct Lane {
  int member = 0;
  std::vector<LaneStep> steps;
  std::size_t next = 0;
  int hops = 0, far_hops = 0;

  bool done() const { return next == steps.size(); }
};

using Buffers = std::array<std::vector<Symbol>, 3>;

class Run {
 public:
  Run(const Exchange& exchange, const GroupDomains& group, const std::vector<std::vector<Step>>& steps,
      const SymbolicOptions& options)
      : group_(group), options_(options) {
    result_.traffic.resize(static_cast<std::size_t>(group.members()));
    if (!cut(steps)) return;
    result_.parts = parts_;
    promise_ = Promise(exchange, group.ranks(), static_cast<int>(parts_));
    make_lanes(steps);
    connect();
    fill();
  }

  SymbolicResult take() {
    if (result_.findings.empty() && execute()) {
      find_stuck();
      find_unreceived();
      find_wrong();
    }
    for (const Lane& lane : lanes_) {
      result_.hops = std::max(result_.hops, lane.hops);
      result_.far_hops = std::max(result_.far_hops, lane.far_hops);
    }
    return std::move(result_);
  }

 private:
  template <class... Args>
  void find(fmt::format_string<Args...> words, Args&&... args) {
    if (result_.findings.size() < kMaxFindings)
      result_.findings.push_back(fmt::format(words, std::forward<Args>(args)...));
  }

  static bool sound(const Slice& slice) {
    const int width = slice.end - slice.begin;
    if (slice.begin < 0 || width <= 0 || slice.end > slice.parts) return false;
    const bool aligned = slice.begin % width == 0 && slice.stride % width == 0 && slice.parts % width == 0;
    return slice.count == 1 ||
           (slice.count > 1 && aligned && slice.count <= slice.parts / std::gcd(slice.stride, slice.parts));
  }

  /// Finds the finest cut that all slices share.
  bool cut(const std::vector<std::vector<Step>>& steps) {
    parts_ = group_.ranks();
    for (const auto& list : steps) {
      for (const Step& step : list) {
        const bool copies = step.kind == StepKind::kCopy;
        const bool peer = copies || (step.peer >= 0 && step.peer < group_.members());
        if (!sound(step.slice) || (copies && !sound(step.from)) || !peer) {
          find("impossible slice or peer: {}", text(step, group_));
          return false;
        }
        parts_ = std::lcm(parts_, static_cast<std::int64_t>(step.slice.parts));
        if (copies) parts_ = std::lcm(parts_, static_cast<std::int64_t>(step.from.parts));
        if (parts_ > kMaxParts) {
          find("slices need more than {} parts", kMaxParts);
          return false;
        }
      }
    }
    return true;
  }

  void make_lanes(const std::vector<std::vector<Step>>& steps) {
    for (int member = 0; member < static_cast<int>(steps.size()); ++member) {
      std::map<std::pair<int, int>, Lane> lanes;
      for (const Step& step : steps[static_cast<std::size_t>(member)]) {
        Lane& lane = lanes[{step.channel, step.lane}];
        lane.member = member;
        lane.steps.push_back({&step, nullptr});
      }
      for (auto& entry : lanes) lanes_.push_back(std::move(entry.second));
    }
    if (options_.reversed) std::ranges::reverse(lanes_);
  }

  /// With one lane at either end of every connection, which message is which does not depend on the order of execution.
  void connect() {
    for (Lane& lane : lanes_) {
      for (LaneStep& entry : lane.steps) {
        const Step& step = *entry.step;
        if (step.kind == StepKind::kCopy) continue;
        const bool sends = step.kind == StepKind::kSend;
        entry.connection = &connections_[ends_of(step, lane.member)];
        const Lane*& user = sends ? entry.connection->sender : entry.connection->receiver;
        if (user == nullptr) user = &lane;
        if (user == &lane) continue;
        find("{} uses a connection on two lanes: {}", member_name(group_, lane.member), text(step, group_));
        return;
      }
    }
  }

  /// What the members hold before.
  void fill() {
    const auto size = static_cast<std::size_t>(parts_);
    memory_.assign(static_cast<std::size_t>(group_.members()), Buffers{});
    for (auto& buffers : memory_) buffers.fill(std::vector<Symbol>(size));
    for (int rank = 0; rank < group_.ranks(); ++rank) {
      for (int place = 0; place < parts_; ++place) {
        for (const StepBuffer buffer : {StepBuffer::kResult, StepBuffer::kSource}) {
          at(rank, buffer, place) = promise_.before(rank, buffer, place);
        }
      }
    }
  }

  Symbol& at(int member, StepBuffer buffer, int place) {
    return memory_[static_cast<std::size_t>(member)][static_cast<std::size_t>(buffer)][static_cast<std::size_t>(place)];
  }

  std::vector<int> places(const Slice& slice) const {
    const int scale = static_cast<int>(parts_) / slice.parts, all = static_cast<int>(parts_);
    std::vector<int> result;
    for (int i = 0; i < slice.count; ++i) {
      const auto shift = (std::int64_t{slice.stride} * i % slice.parts + slice.parts) % slice.parts;
      const int begin = (slice.begin + static_cast<int>(shift)) % slice.parts * scale;
      for (int k = 0; k < (slice.end - slice.begin) * scale; ++k) result.push_back((begin + k) % all);
    }
    return result;
  }

  std::vector<Symbol> read(int member, const Slice& slice) {
    std::vector<Symbol> symbols;
    for (const int place : places(slice)) symbols.push_back(at(member, slice.buffer, place));
    return symbols;
  }

  /// Stores or adds; false: a finding.
  bool write(const Lane& lane, const Step& step, const std::vector<Symbol>& symbols) {
    const std::vector<int> targets = places(step.slice);
    if (targets.size() != symbols.size()) {
      find("{}: {} gets {} parts for {}", member_name(group_, lane.member), text(step, group_), symbols.size(),
           targets.size());
      return false;
    }
    for (std::size_t i = 0; i < targets.size(); ++i) {
      Symbol& target = at(lane.member, step.slice.buffer, targets[i]);
      if (step.kind != StepKind::kReduce) {
        target = symbols[i];
        continue;
      }
      const bool same_value = target.value >= 0 && target.value == symbols[i].value;
      if (!same_value || (target.ranks & symbols[i].ranks).any()) {
        find("{}: {} adds {} to {}", member_name(group_, lane.member), text(step, group_), text(symbols[i]),
             text(target));
        return false;
      }
      target.ranks |= symbols[i].ranks;
    }
    return true;
  }

  /// Runs lanes in turn until none can go on; false: a finding.
  bool execute() {
    for (bool progress = true; progress;) {
      progress = false;
      for (Lane& lane : lanes_) {
        while (!lane.done() && ready(lane.steps[lane.next])) {
          if (!perform(lane, lane.steps[lane.next])) return false;
          ++lane.next;
          progress = true;
        }
      }
    }
    return true;
  }

  bool ready(const LaneStep& entry) const {
    if (entry.connection == nullptr) return true;
    const int waiting = static_cast<int>(entry.connection->waiting.size());
    return entry.step->kind == StepKind::kSend ? waiting < options_.slots : waiting > 0;
  }

  bool perform(Lane& lane, const LaneStep& entry) {
    const Step& step = *entry.step;
    if (step.kind == StepKind::kCopy) return write(lane, step, read(lane.member, step.from));
    if (step.kind == StepKind::kSend) {
      send(lane, entry);
      return true;
    }
    const Message message = std::move(entry.connection->waiting.front());
    entry.connection->waiting.pop_front();
    lane.hops = std::max(lane.hops, message.hops);
    lane.far_hops = std::max(lane.far_hops, message.far_hops);
    result_.traffic[static_cast<std::size_t>(lane.member)].received +=
        static_cast<std::int64_t>(message.symbols.size());
    return write(lane, step, message.symbols);
  }

  void send(const Lane& lane, const LaneStep& entry) {
    const Step& step = *entry.step;
    const bool far = group_.far(lane.member, step.peer);
    Message message{read(lane.member, step.slice), lane.hops + 1, lane.far_hops + (far ? 1 : 0)};
    const auto size = static_cast<std::int64_t>(message.symbols.size());
    MemberTraffic& traffic = result_.traffic[static_cast<std::size_t>(lane.member)];
    traffic.sent += size;
    ++traffic.messages;
    if (far) {
      traffic.sent_far += size;
      ++traffic.messages_far;
    }
    entry.connection->waiting.push_back(std::move(message));
  }

  void find_stuck() {
    for (const Lane& lane : lanes_) {
      if (lane.done()) continue;
      find("{} waits for ever: {}", member_name(group_, lane.member), text(*lane.steps[lane.next].step, group_));
    }
  }

  void find_unreceived() {
    for (const auto& entry : connections_) {
      if (entry.second.waiting.empty()) continue;
      find("{} never receives a message of {} on channel {}", member_name(group_, entry.first.to),
           member_name(group_, entry.first.from), entry.first.channel);
    }
  }

  void find_wrong() {
    for (int rank = 0; rank < group_.ranks(); ++rank) {
      for (int place = 0; place < parts_; ++place) {
        const Symbol wanted = promise_.after(rank, place), got = at(rank, StepBuffer::kResult, place);
        if (wanted.value < 0 || got == wanted) continue;
        find("rank {} ends with {} in part {} of {}, not {}", rank, text(got), place, parts_, text(wanted));
      }
    }
  }

  const GroupDomains& group_;
  const SymbolicOptions& options_;
  std::int64_t parts_ = 1;
  Promise promise_;
  std::vector<Lane> lanes_;
  std::vector<Buffers> memory_;
  std::map<Ends, Connection> connections_;
  SymbolicResult result_;
};

}  // namespace

SymbolicResult run_symbolically(const Exchange& exchange, const GroupDomains& group,
                                const std::vector<std::vector<Step>>& steps, const SymbolicOptions& options) {
  if (group.ranks() > kMaxSymbolicRanks) throw std::invalid_argument("too many ranks for a symbolic run");
  return Run(exchange, group, steps, options).take();
}

}  // namespace strategies
