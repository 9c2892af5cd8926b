#include "executor/cpu/rank_state.h"

#include <algorithm>
#include <string>
#include <variant>

namespace executor::cpu {
namespace {

using strategies::Program;
using strategies::Rank;
using strategies::Role;

std::vector<int> member_ranks(const Program& program, const strategies::Group& group, Rank rank) {
  std::vector<int> members;
  for (const Rank member : group.members(program.views[static_cast<std::size_t>(group.view)], rank)) {
    members.push_back(member.value);
  }
  return members;
}

std::vector<std::optional<GroupHandle>> join_groups(const Program& program, Rank rank, Communicator& communicator) {
  std::vector<std::optional<GroupHandle>> handles;
  for (const strategies::Group& group : program.groups) {
    const std::vector<int> members = member_ranks(program, group, rank);
    handles.push_back(members.size() > 1 ? std::optional(communicator.group(members)) : std::nullopt);
  }
  return handles;
}

/// The parameters are gathered: what each member contributes is what it updates.
Pieces find_pieces(const Program& program, const Role& role, Rank rank) {
  for (const strategies::Block& block : role.blocks) {
    for (const strategies::Operation& operation : block.operations) {
      const auto* collective = std::get_if<strategies::Collective>(&operation.work);
      if (collective == nullptr || operation.origin.phase != strategies::Phase::kGather) continue;
      const std::vector<int> members = member_ranks(program, program.groups[collective->group.value], rank);
      const auto own = std::ranges::find(members, rank.value);
      return {static_cast<int>(members.size()), static_cast<int>(own - members.begin())};
    }
  }
  return {};
}

bool holds_gradient_of(const Role& role, const std::string& parameter) {
  return std::ranges::any_of(role.buffers, [&](const strategies::Buffer& buffer) {
    return buffer.holds == strategies::Holds::kGradients && buffer.slice.parameter == parameter;
  });
}

bool counts_in_norm(const Program& program, const Role& role, const RankPlace& place, const Pieces& pieces,
                    const strategies::TensorSlice& slice) {
  if (slice.sharded_axis < 0 && place.tensor > 0) return false;  // every tensor rank holds the same
  const int holder = place.replica * place.contexts + place.context;
  if (holder >= pieces.count) return false;  // another set of pieces
  // Of the two holders of a tied table the first stage counts.
  const auto first =
      std::ranges::find_if(program.roles, [&](const Role& each) { return holds_gradient_of(each, slice.parameter); });
  return first->stage == role.stage;
}

std::span<float> grown(std::vector<float>& memory, std::size_t elements) {
  if (memory.size() < elements) memory.resize(elements);
  return std::span(memory).first(elements);
}

}  // namespace

Pieces::Range Pieces::piece(std::size_t elements, int index) const {
  const std::size_t size = padded_size(elements);
  const std::size_t begin = std::min(elements, size * static_cast<std::size_t>(index));
  return {begin, std::min(elements, begin + size)};
}

RankState::RankState(const Program& the_program, Rank rank, const RunSettings& the_settings, const Corpus& the_corpus,
                     Communicator& the_communicator)
    : program(the_program),
      role(the_program.role_of(rank)),
      place(place_of(the_program, rank)),
      settings(the_settings),
      corpus(the_corpus),
      communicator(the_communicator),
      kernels(cpu::kernels()),
      groups(join_groups(the_program, rank, the_communicator)),
      pieces(find_pieces(the_program, role, rank)),
      order{.sequence = the_program.tokens_per_step / the_program.samples_per_step,
            .contexts = place.contexts,
            .balanced = the_program.balanced_context} {
  for (const strategies::Buffer& buffer : role.buffers) {
    const bool counts =
        buffer.is_parameter_gradient() && cpu::counts_in_norm(program, role, place, pieces, buffer.slice);
    counts_in_norm_.push_back(counts ? 1 : 0);
  }
}

Batch RankState::batch(int step, int microbatch, std::int64_t tokens) const {
  Batch batch{std::vector<std::int32_t>(static_cast<std::size_t>(tokens)),
              std::vector<std::int32_t>(static_cast<std::size_t>(tokens))};
  const std::int64_t sequences = tokens / order.own();
  const std::int64_t first = (std::int64_t{microbatch} * place.replicas + place.replica) * sequences;
  const auto length = static_cast<std::size_t>(order.sequence);
  std::vector<std::int32_t> ids(length), targets(length);
  for (std::int64_t token = 0; token < tokens; ++token) {
    const std::int64_t i = token / order.own(), own = token % order.own();
    if (own == 0) corpus.sample(step * program.samples_per_step + first + i, ids, targets);
    const auto position = static_cast<std::size_t>(order.position(place.context, own));
    batch.ids[static_cast<std::size_t>(token)] = ids[position];
    batch.targets[static_cast<std::size_t>(token)] = targets[position];
  }
  return batch;
}

std::vector<PositionRun> RankState::position_runs(std::int64_t first, std::int64_t count) const {
  std::vector<PositionRun> runs;
  const std::int64_t piece = order.piece_length();
  for (std::int64_t token = first; token < first + count; token += runs.back().length) {
    const std::int64_t length = std::min(piece - token % piece, first + count - token);
    runs.push_back({token, order.position(place.context, token % order.own()), length});
  }
  return runs;
}

std::span<float> RankState::scratch(std::size_t elements) { return grown(scratch_, elements); }
std::span<float> RankState::staging(std::size_t elements) { return grown(staging_, elements); }

std::pair<const float*, const float*> RankState::rotation(std::int64_t head_dim) {
  if (cosines_.empty()) {
    const auto half = static_cast<std::size_t>(head_dim / 2);
    std::vector<float> cosines(static_cast<std::size_t>(order.sequence) * half), sines(cosines.size());
    rotary_table(order.sequence, head_dim, kRotaryBase, cosines.data(), sines.data());
    for (const PositionRun& run : position_runs(0, order.own())) {
      const auto begin = static_cast<std::ptrdiff_t>(run.position) * static_cast<std::ptrdiff_t>(half);
      const auto end = begin + static_cast<std::ptrdiff_t>(run.length) * static_cast<std::ptrdiff_t>(half);
      cosines_.insert(cosines_.end(), cosines.begin() + begin, cosines.begin() + end);
      sines_.insert(sines_.end(), sines.begin() + begin, sines.begin() + end);
    }
  }
  return {cosines_.data(), sines_.data()};
}

std::size_t RankState::workspace_bytes() const {
  std::size_t floats = scratch_.capacity() + staging_.capacity() + cosines_.capacity() + sines_.capacity();
  return floats * sizeof(float);
}

}  // namespace executor::cpu
