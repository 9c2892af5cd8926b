#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "strategies/program/check_parts.h"
#include "strategies/program/connections.h"

namespace strategies {
namespace {

std::string described(const Message& m) {
  return fmt::format("the {} of microbatch {} from virtual stage {} to {}",
                     m.payload == Payload::kActivation ? "activation" : "gradient", m.microbatch, m.from, m.to);
}

std::string place(const Program& program, std::uint32_t role, const Message& m) {
  return place_in_action(program, role, m.action, m.operation);
}

void sort_by_identity(std::vector<Message>& messages) { std::ranges::stable_sort(messages, {}, &Message::identity); }

/// The messages whose `end` lies on `stage`.
std::vector<Message> on_stage(const Program& program, const std::vector<Message>& messages, int Message::*end,
                              int stage) {
  std::vector<Message> chosen;
  std::ranges::copy_if(messages, std::back_inserter(chosen), [&](const Message& m) {
    return program.stage_of_virtual[static_cast<std::size_t>(m.*end)] == stage;
  });
  return chosen;
}

void check_repeated(const Program& program, std::uint32_t role, const std::vector<Message>& sorted, const char* verb,
                    std::vector<std::string>& defects) {
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].identity() != sorted[i - 1].identity()) continue;
    defects.push_back(fmt::format("{}: {} is {} twice", place(program, role, sorted[i]), described(sorted[i]), verb));
  }
}

/// Both sorted by identity.
void check_pair(const Program& program, const RolePair& pair, const std::vector<Message>& sent,
                const std::vector<Message>& received, std::vector<std::string>& defects) {
  auto s = sent.begin();
  auto r = received.begin();
  while (s != sent.end() || r != received.end()) {
    if (r == received.end() || (s != sent.end() && s->identity() < r->identity())) {
      defects.push_back(fmt::format("{}: {} never receives {}", place(program, pair.sender, *s),
                                    place_of_role(program, pair.receiver), described(*s)));
      ++s;
    } else if (s == sent.end() || r->identity() < s->identity()) {
      defects.push_back(fmt::format("{}: {} never sends {}", place(program, pair.receiver, *r),
                                    place_of_role(program, pair.sender), described(*r)));
      ++r;
    } else {
      if (s->bytes != r->bytes) {
        defects.push_back(fmt::format("{}: {} is sent with {} bytes and received by {} with {}",
                                      place(program, pair.sender, *s), described(*s), s->bytes,
                                      place_of_role(program, pair.receiver), r->bytes));
      }
      ++s, ++r;
    }
  }
}

}  // namespace

void check_messages(const Program& program, std::vector<std::string>& defects) {
  const std::size_t before = defects.size();
  std::vector<std::vector<Message>> sent, received;
  for (std::uint32_t role = 0; role < program.roles.size(); ++role) {
    sort_by_identity(sent.emplace_back(sends(program, role)));
    sort_by_identity(received.emplace_back(receives(program, role)));
    check_repeated(program, role, sent[role], "sent", defects);
    check_repeated(program, role, received[role], "received", defects);
  }
  if (defects.size() != before) return;  // a repeated message would be reported once more as one without a partner
  for (const RolePair& pair : communicating_roles(program)) {
    check_pair(program, pair, on_stage(program, sent[pair.sender], &Message::to, program.roles[pair.receiver].stage),
               on_stage(program, received[pair.receiver], &Message::from, program.roles[pair.sender].stage), defects);
  }
}

}  // namespace strategies
