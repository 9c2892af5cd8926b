#include "scenarios/report/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <variant>

namespace scenarios {
namespace {

using strategies::Lane;
using strategies::OperationRecord;

/// Identity of a message within one step: sending class, microbatch, sender's and receiver's virtual stage, payload.
using Message = std::tuple<std::uint32_t, int, int, int, strategies::Payload>;

class TraceWriter {
 public:
  /// Processes count from `first_process`, arrows from `first_arrow`.
  TraceWriter(const Timeline& timeline, std::uint32_t first_process, std::size_t first_arrow)
      : name_(timeline.name),
        program_(*timeline.program),
        classes_(*timeline.classes),
        records_(timeline.records),
        first_process_(first_process),
        first_arrow_(first_arrow) {
    if (records_.empty()) return;
    origin_ns_ = std::ranges::min_element(records_, {}, &OperationRecord::begin_ns)->begin_ns;
  }

  /// Events, each with a comma and a line end.
  std::string write() {
    for (std::uint32_t process = 0; process < classes_.size(); ++process) name_tracks(process);
    for (const OperationRecord& record : records_) slice(record);
    return text_;
  }
  std::size_t arrows() const { return ids_.size(); }

 private:
  std::uint32_t role_of(const OperationRecord& record) const { return classes_.of(record.rank).role; }
  std::uint32_t process_of(strategies::Rank rank) const {
    return classes_.of_rank[static_cast<std::size_t>(rank.value)];
  }
  std::uint32_t pid(std::uint32_t process) const { return first_process_ + process; }
  /// "stage 0", and of which rank where the stage has several tracks.
  std::string process_name(const sim::RankClass& which) const {
    const std::string name = (name_.empty() ? "" : name_ + ", ") + program_.roles[which.role].name;
    if (std::ranges::count(classes_.all, which.role, &sim::RankClass::role) == 1) return name;
    return fmt::format("{}, rank {}{}", name, which.representative.value,
                       which.ranks > 1 ? fmt::format(" and {} alike", which.ranks - 1) : "");
  }
  double microseconds(std::int64_t ns) const { return static_cast<double>(ns) * 1e-3; }

  void name_tracks(std::uint32_t process) {
    const auto add = [&](std::string_view what, int tid, std::string_view name) {
      text_ += fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":"{}"}}}},)"
                           "\n",
                           what, pid(process), tid, name);
    };
    add("process_name", 0, process_name(classes_.all[process]));
    text_ += fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}},)"
                         "\n",
                         pid(process), pid(process));
    std::array<bool, strategies::kLanes> used{};
    for (const strategies::Block& block : program_.roles[classes_.all[process].role].blocks) {
      for (const strategies::Operation& operation : block.operations)
        used[static_cast<std::size_t>(operation.lane)] = true;
    }
    for (int lane = 0; lane < strategies::kLanes; ++lane) {
      if (used[static_cast<std::size_t>(lane)]) add("thread_name", lane, strategies::name(static_cast<Lane>(lane)));
    }
  }

  void slice(const OperationRecord& record) {
    const std::uint32_t role = role_of(record);
    const strategies::Action& action = program_.roles[role].schedule[record.instance.action];
    const strategies::Block& block = program_.roles[role].blocks[action.block];
    const strategies::Operation& operation = block.operations[record.instance.operation.value];
    std::string name = operation.origin.label;
    if (operation.origin.layer >= 0) name += fmt::format(" L{}", operation.origin.layer);
    text_ += fmt::format(
        R"({{"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"name":"{}","cat":"{}","args":{{"block":"{}","chunk":{},"microbatch":{}}}}},)"
        "\n",
        pid(process_of(record.rank)), static_cast<int>(operation.lane), microseconds(record.begin_ns - origin_ns_),
        microseconds(record.end_ns - record.begin_ns), name, strategies::name(operation.origin.phase),
        strategies::name(block.kind), block.chunk, action.microbatch);
    if (const auto* send = std::get_if<strategies::Send>(&operation.work)) {
      arrow('s', record,
            {process_of(record.rank), action.microbatch, block.virtual_stage, send->virtual_stage, send->payload});
    } else if (const auto* receive = std::get_if<strategies::Receive>(&operation.work)) {
      arrow('f', record,
            {process_of(program_.peer(record.rank, receive->virtual_stage)), action.microbatch, receive->virtual_stage,
             block.virtual_stage, receive->payload});
    }
  }

  /// Arrows bind to the slice they lie in: they start with the send and end with the receive.
  void arrow(char end, const OperationRecord& record, const Message& message) {
    const auto id = ids_.try_emplace(message, first_arrow_ + ids_.size() + 1).first->second;
    const std::uint32_t role = role_of(record);
    const strategies::Action& action = program_.roles[role].schedule[record.instance.action];
    const auto& operation = program_.roles[role].blocks[action.block].operations[record.instance.operation.value];
    // A viewer has closed a slice at its end: the arrow ends in its last nanosecond.
    const std::int64_t at = end == 's' ? record.begin_ns : std::max(record.begin_ns, record.end_ns - 1);
    text_ += fmt::format(R"({{"ph":"{}",{}"id":{},"pid":{},"tid":{},"ts":{:.3f},"name":"message","cat":"message"}},)"
                         "\n",
                         end, end == 'f' ? R"("bp":"e",)" : "", id, pid(process_of(record.rank)),
                         static_cast<int>(operation.lane), microseconds(at - origin_ns_));
  }

  std::string name_;
  const strategies::Program& program_;
  const sim::RankClasses& classes_;
  std::span<const OperationRecord> records_;
  std::uint32_t first_process_;
  std::size_t first_arrow_;
  std::int64_t origin_ns_ = 0;
  std::map<Message, std::size_t> ids_;
  std::string text_;
};

}  // namespace

std::string trace_json(std::span<const Timeline> timelines) {
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  std::uint32_t processes = 0;
  std::size_t arrows = 0;
  for (const Timeline& timeline : timelines) {
    TraceWriter writer(timeline, processes, arrows);
    text += writer.write();
    processes += static_cast<std::uint32_t>(timeline.classes->size());
    arrows += writer.arrows();
  }
  if (text.ends_with(",\n")) text.resize(text.size() - 2);
  return text + "\n]}\n";
}

std::string trace_json(const Prediction& prediction) {
  const Timeline timeline{"", &prediction.program, &prediction.result.classes, prediction.result.records};
  return trace_json(std::span(&timeline, 1));
}

}  // namespace scenarios
