#include "strategies/collectives/step.h"

#include <fmt/format.h>

#include <array>

namespace strategies {
namespace {

std::string text(const Slice& slice) {
  constexpr std::array kBuffers = {"", "source ", "staging "};
  std::string words = fmt::format("{}[{},{})/{}", kBuffers.at(static_cast<std::size_t>(slice.buffer)), slice.begin,
                                  slice.end, slice.parts);
  if (slice.count > 1) words += fmt::format(" x{} {:+d}", slice.count, slice.stride);
  return words;
}

}  // namespace

const char* name(StepKind kind) {
  constexpr std::array kNames = {"send", "receive", "reduce", "copy"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string member_name(const GroupDomains& group, int member) {
  if (group.is_rank(member)) return fmt::format("rank {}", member);
  if (group.is_switch(member)) return fmt::format("switch {}", member - group.ranks());
  return member == group.network() ? "network" : fmt::format("member {}", member);
}

std::string text(const Step& step, const GroupDomains& group) {
  const std::string head = fmt::format("{}.{} {} {}", step.channel, step.lane, name(step.kind), text(step.slice));
  if (step.kind == StepKind::kCopy) return fmt::format("{} from {}", head, text(step.from));
  const std::string number = step.connection == 0 ? "" : fmt::format(" #{}", step.connection);
  return fmt::format("{} {} {}{}", head, step.kind == StepKind::kSend ? "to" : "from", member_name(group, step.peer),
                     number);
}

std::string text(const std::vector<std::vector<Step>>& steps, const GroupDomains& group) {
  std::string lines;
  for (std::size_t member = 0; member < steps.size(); ++member) {
    if (steps[member].empty()) continue;
    lines += member_name(group, static_cast<int>(member)) + "\n";
    for (const Step& step : steps[member]) lines += "  " + text(step, group) + "\n";
  }
  return lines;
}

}  // namespace strategies
