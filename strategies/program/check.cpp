#include "strategies/program/check.h"

#include <fmt/format.h>

#include <array>

#include "strategies/program/check_parts.h"

namespace strategies {

std::span<const Check> checks() {
  static constexpr std::array<Check, 6> kChecks{
      {{"references", "every index points at something, and backwards in time", check_references},
       {"messages", "every message is sent once and received once, with equal bytes", check_messages},
       {"collectives", "the members of a group issue the same collectives in the same order", check_collectives},
       {"cycles", "no operation waits for itself through lanes, dependences, messages or collectives", check_cycles},
       {"buffers", "buffers are live when used, allocated once and freed once", check_buffers},
       {"progress", "an untimed run of two steps finishes", check_progress}}};
  return kChecks;
}

std::vector<std::string> check_program(const Program& program) {
  std::vector<std::string> defects;
  for (const Check& check : checks()) {
    check.run(program, defects);
    // The others follow the indices that this one has checked.
    if (check.run == check_references && !defects.empty()) return defects;
  }
  return defects;
}

std::string place_of_role(const Program& program, std::uint32_t role) {
  return fmt::format("role {} \"{}\"", role, program.roles[role].name);
}

std::string place_in_block(const Program& program, std::uint32_t role, std::uint32_t block, std::uint32_t operation) {
  const Block& called = program.roles[role].blocks[block];
  return fmt::format("{}, block {} ({}), operation {} \"{}\"", place_of_role(program, role), block, name(called.kind),
                     operation, called.operations[operation].origin.label);
}

std::string place_of_action(const Program& program, std::uint32_t role, std::uint32_t action) {
  const Action& call = program.roles[role].schedule[action];
  std::string microbatch;
  if (call.microbatch >= 0) microbatch = fmt::format(", microbatch {}", call.microbatch);
  return fmt::format("{}, action {} (block {} {}{})", place_of_role(program, role), action, call.block,
                     name(program.roles[role].blocks[call.block].kind), microbatch);
}

std::string place_in_action(const Program& program, std::uint32_t role, std::uint32_t action, std::uint32_t operation) {
  const Role& owner = program.roles[role];
  return fmt::format("{}, operation {} \"{}\"", place_of_action(program, role, action), operation,
                     owner.blocks[owner.schedule[action].block].operations[operation].origin.label);
}

}  // namespace strategies
