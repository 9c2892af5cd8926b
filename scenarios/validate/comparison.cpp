#include "scenarios/validate/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <variant>

#include "hw_models/measured_kernels.h"

namespace scenarios {
namespace {

using strategies::Operation;
using strategies::OperationRecord;
using strategies::Program;
using Records = std::span<const OperationRecord>;

constexpr const char* kWaiting = "waiting for peers";
/// Ranks that meet, and the how-manieth of their meetings it is; for messages, those of both ends.
using Meeting = std::tuple<int, int, int, int, int>;

struct Executed {
  const strategies::Block& block;
  const Operation& operation;
  int microbatch;
};

Executed executed(const Program& program, const OperationRecord& record) {
  const strategies::Role& role = program.role_of(record.rank);
  const strategies::Action& action = role.schedule.at(record.instance.action);
  const strategies::Block& block = role.blocks[action.block];
  return {block, block.operations.at(record.instance.operation.value), action.microbatch};
}

struct KindOf {
  strategies::Lane lane;

  std::string operator()(const strategies::Compute& compute) const {
    const auto point = hw_models::kernel_point(compute.kernel);
    return point ? std::string(point->kind) : "other kernels";
  }
  std::string operator()(const strategies::Collective& collective) const {
    return fmt::format("{} ({})", strategies::name(collective.kind), strategies::name(lane));
  }
  std::string operator()(const strategies::Send&) const { return "send"; }
  std::string operator()(const strategies::Receive&) const { return "receive"; }
  std::string operator()(const strategies::Host&) const { return "host"; }
  std::string operator()(const strategies::Checkpoint&) const { return "checkpoint"; }
};

/// Mean over the ranks of one step.
struct StepFigures {
  std::map<std::string, std::pair<double, double>> kinds;  ///< operations, seconds
  std::array<double, strategies::kLanes> lanes{};
  double waiting_s = 0;
  std::int64_t end_ns = 0;  ///< of the last operation
  double seconds = 0;       ///< of the step
};

/// One step of all ranks.
class Step {
 public:
  Step(const Program& program, const std::vector<OperationRecord>& records) : program_(program), records_(records) {
    std::map<std::pair<int, std::uint32_t>, int> meetings;  // of a rank, by group
    for (const OperationRecord& record : records_) meetings_.push_back(meeting(record, meetings));
    for (std::size_t i = 0; i < records_.size(); ++i) {
      const bool receives = std::holds_alternative<strategies::Receive>(operation(i).work);
      if (!meetings_[i] || receives) continue;
      std::int64_t& last = last_begin_.try_emplace(*meetings_[i], records_[i].begin_ns).first->second;
      last = std::max(last, records_[i].begin_ns);
    }
  }

  StepFigures figures() const {
    StepFigures figures;
    const double share = 1e-9 / program_.ranks();
    for (std::size_t i = 0; i < records_.size(); ++i) {
      const OperationRecord& record = records_[i];
      const double all = static_cast<double>(record.end_ns - record.begin_ns);
      const double waited = static_cast<double>(wait_ns(i));
      auto& [count, seconds] = figures.kinds[kind_of(operation(i))];
      count += 1.0 / program_.ranks();
      seconds += (all - waited) * share;
      figures.waiting_s += waited * share;
      figures.lanes[static_cast<std::size_t>(operation(i).lane)] += all * share;
      figures.end_ns = std::max(figures.end_ns, record.end_ns);
    }
    return figures;
  }

 private:
  const Operation& operation(std::size_t i) const { return executed(program_, records_[i]).operation; }

  std::optional<Meeting> meeting(const OperationRecord& record,
                                 std::map<std::pair<int, std::uint32_t>, int>& meetings) const {
    const Executed what = executed(program_, record);
    if (const auto* collective = std::get_if<strategies::Collective>(&what.operation.work)) {
      const strategies::Group& group = program_.groups[collective->group.value];
      const auto members = group.members(program_.views[static_cast<std::size_t>(group.view)], record.rank);
      const int ordinal = meetings[{record.rank.value, collective->group.value}]++;
      return Meeting{static_cast<int>(collective->group.value), members.front().value, ordinal, -1, -1};
    }
    if (const auto* send = std::get_if<strategies::Send>(&what.operation.work)) {
      return message(record.rank, what.microbatch, what.block.virtual_stage, send->virtual_stage, send->payload);
    }
    if (const auto* receive = std::get_if<strategies::Receive>(&what.operation.work)) {
      const strategies::Rank from = program_.peer(record.rank, receive->virtual_stage);
      return message(from, what.microbatch, receive->virtual_stage, what.block.virtual_stage, receive->payload);
    }
    return std::nullopt;
  }

  static Meeting message(strategies::Rank from, int microbatch, int from_stage, int to_stage,
                         strategies::Payload payload) {
    return {-1 - from.value, microbatch, from_stage, to_stage, static_cast<int>(payload)};
  }

  std::int64_t wait_ns(std::size_t i) const {
    if (!meetings_[i] || std::holds_alternative<strategies::Send>(operation(i).work)) return 0;
    const auto last = last_begin_.find(*meetings_[i]);
    if (last == last_begin_.end()) return 0;
    return std::clamp<std::int64_t>(last->second - records_[i].begin_ns, 0, records_[i].end_ns - records_[i].begin_ns);
  }

  const Program& program_;
  const std::vector<OperationRecord>& records_;
  std::vector<std::optional<Meeting>> meetings_;
  std::map<Meeting, std::int64_t> last_begin_;
};

std::size_t operations_per_step(const Program& program) {
  std::vector<std::size_t> of_role;
  for (const strategies::Role& role : program.roles) of_role.push_back(role.operations());
  std::size_t sum = 0;
  for (const std::uint32_t role : program.role_of_rank) sum += of_role[role];
  return sum;
}

/// By step, each in program order.
std::vector<std::vector<OperationRecord>> by_step(const Program& program, Records records) {
  std::vector<OperationRecord> sorted(records.begin(), records.end());
  std::ranges::sort(sorted, {}, [](const OperationRecord& r) { return std::pair(r.instance, r.rank.value); });
  std::vector<std::vector<OperationRecord>> steps;
  std::int32_t last = -1;
  for (const OperationRecord& record : sorted) {
    if (record.instance.step != last) steps.emplace_back();
    last = record.instance.step;
    steps.back().push_back(record);
  }
  const std::size_t expected = operations_per_step(program);
  for (const auto& step : steps) {
    if (step.size() == expected) continue;
    throw std::invalid_argument(fmt::format("step {} has {} records, the program has {} operations",
                                            step.front().instance.step, step.size(), expected));
  }
  return steps;
}

/// The middle half of `count` steps by length, at least one.
std::vector<std::size_t> middle_steps(const std::vector<double>& lengths) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&lengths](std::size_t step) { return lengths[step]; });
  const auto quarter = static_cast<std::ptrdiff_t>(lengths.size() / 4);
  return {order.begin() + quarter, order.end() - quarter};
}

double seconds_of(const StepFigures& figures, const std::string& kind) {
  const auto found = figures.kinds.find(kind);
  return found == figures.kinds.end() ? 0 : found->second.second;
}

template <class Figure>
double mean_of(const std::vector<StepFigures>& steps, Figure figure) {
  double sum = 0;
  for (const StepFigures& step : steps) sum += figure(step);
  return sum / static_cast<double>(steps.size());
}

void add_rows(const StepFigures& predicted, const std::vector<StepFigures>& measured, Comparison& result) {
  for (const auto& [kind, figures] : measured.front().kinds) {
    const std::string& name = kind;
    result.kinds.push_back({name, figures.first, seconds_of(predicted, name),
                            mean_of(measured, [&name](const StepFigures& s) { return seconds_of(s, name); })});
  }
  std::ranges::stable_sort(result.kinds, std::greater(), &ComparedRow::measured_s);
  result.kinds.push_back(
      {kWaiting, 0, predicted.waiting_s, mean_of(measured, [](const StepFigures& step) { return step.waiting_s; })});
  for (std::size_t lane = 0; lane < static_cast<std::size_t>(strategies::kLanes); ++lane) {
    const double seconds = mean_of(measured, [lane](const StepFigures& step) { return step.lanes[lane]; });
    if (seconds == 0 && predicted.lanes[lane] == 0) continue;
    result.lanes.push_back({strategies::name(static_cast<strategies::Lane>(lane)), 0, predicted.lanes[lane], seconds});
  }
}

double sum(const std::vector<ComparedRow>& rows, double ComparedRow::*side) {
  double sum = 0;
  for (const ComparedRow& row : rows) sum += row.*side;
  return sum;
}

double relative(double predicted, double measured) {
  if (measured > 0) return predicted / measured - 1;
  return predicted > 0 ? 1 : 0;
}

}  // namespace

double ComparedRow::error() const { return relative(predicted_s, measured_s); }
double Comparison::error() const { return relative(predicted_step_s, measured_step_s); }
double Comparison::predicted_between_s() const { return predicted_step_s - sum(kinds, &ComparedRow::predicted_s); }
double Comparison::measured_between_s() const { return measured_step_s - sum(kinds, &ComparedRow::measured_s); }
double Comparison::explained() const {
  return measured_step_s > 0 ? std::clamp(1 - measured_between_s() / measured_step_s, 0.0, 1.0) : 0;
}

std::string kind_of(const Operation& operation) { return std::visit(KindOf{operation.lane}, operation.work); }

bool is_kernel(const Program& program, const OperationRecord& record) {
  return std::holds_alternative<strategies::Compute>(executed(program, record).operation.work);
}

Comparison compare(const Program& program, double predicted_step_s, Records predicted, Records measured, int warm_up) {
  const auto predicted_steps = by_step(program, predicted);
  const auto measured_steps = by_step(program, measured);
  if (predicted_steps.size() != 1) throw std::invalid_argument("the prediction holds not one step");
  const auto skipped = static_cast<std::size_t>(std::max(warm_up, 1));
  if (measured_steps.size() <= skipped) {
    throw std::invalid_argument(
        fmt::format("{} steps were recorded, and the first {} warm up", measured_steps.size(), skipped));
  }
  Comparison result;
  result.predicted_step_s = predicted_step_s;
  std::vector<StepFigures> figures;
  std::int64_t before_ns = 0;
  for (std::size_t i = skipped - 1; i < measured_steps.size(); ++i) {
    StepFigures step = Step(program, measured_steps[i]).figures();
    step.seconds = static_cast<double>(step.end_ns - before_ns) * 1e-9;
    before_ns = step.end_ns;
    if (i < skipped) continue;
    result.measured_steps_s.push_back(step.seconds);
    figures.push_back(std::move(step));
  }
  const std::vector<std::size_t> middle = middle_steps(result.measured_steps_s);
  std::vector<StepFigures> counted;
  for (const std::size_t step : middle) counted.push_back(figures[step]);
  result.measured_step_s = mean_of(counted, [](const StepFigures& step) { return step.seconds; });
  result.typical_step = measured_steps[skipped + middle[middle.size() / 2]].front().instance.step;
  add_rows(Step(program, predicted_steps.front()).figures(), counted, result);
  return result;
}

}  // namespace scenarios
