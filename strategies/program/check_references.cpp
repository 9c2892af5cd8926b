#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "strategies/program/check_parts.h"

namespace strategies {
namespace {

class References {
 public:
  References(const Program& program, std::vector<std::string>& defects) : program_(program), defects_(defects) {}

  void check() {
    const std::size_t before = defects_.size();
    check_views();
    if (defects_.size() == before) check_groups();
    check_stages();
    check_ranks();
    if (defects_.size() != before) return;  // what follows multiplies extents and looks up stages
    check_stages_of_roles();
    for (role_ = 0; role_ < program_.roles.size(); ++role_) check_role();
  }

 private:
  template <class... Values>
  void defect(fmt::format_string<Values...> format, Values&&... values) {
    defects_.push_back(fmt::format(format, std::forward<Values>(values)...));
  }
  const Role& role() const { return program_.roles[role_]; }
  std::string place() const { return place_of_role(program_, role_); }

  // ---- The whole program ----
  void check_views() {
    if (program_.views.empty()) defect("the program has no view of its ranks");
    for (std::size_t i = 0; i < program_.views.size(); ++i) {
      const Mesh& view = program_.views[i];
      std::set<std::string_view> names;
      bool positive = true;
      for (const Dimension& dimension : view.dimensions) {
        if (!names.insert(dimension.name).second) defect("view {} has two dimensions \"{}\"", i, dimension.name);
        positive = positive && dimension.extent > 0;
        if (dimension.extent <= 0) {
          defect("view {}, dimension \"{}\": extent {} is not positive", i, dimension.name, dimension.extent);
        }
      }
      if (positive && view.size() != program_.ranks()) {
        defect("view {} has {} ranks, the program {}", i, view.size(), program_.ranks());
      }
    }
  }

  void check_groups() {
    for (std::size_t i = 0; i < program_.groups.size(); ++i) {
      const Group& group = program_.groups[i];
      if (group.view < 0 || group.view >= static_cast<int>(program_.views.size())) {
        defect("group {} \"{}\": there is no view {}", i, group.name, group.view);
        continue;
      }
      const Mesh& view = program_.views[static_cast<std::size_t>(group.view)];
      std::set<int> dimensions;
      for (const Group::Span& span : group.spans) {
        if (span.dimension < 0 || span.dimension >= static_cast<int>(view.dimensions.size())) {
          defect("group {} \"{}\": view {} has no dimension {}", i, group.name, group.view, span.dimension);
          continue;
        }
        if (!dimensions.insert(span.dimension).second) {
          defect("group {} \"{}\": dimension {} is listed twice", i, group.name, span.dimension);
        }
        check_coordinates(i, span, view.dimensions[static_cast<std::size_t>(span.dimension)]);
      }
    }
  }

  void check_coordinates(std::size_t group, const Group::Span& span, const Dimension& dimension) {
    const std::vector<int>& listed = span.coordinates;
    const bool ascend = std::ranges::adjacent_find(listed, std::ranges::greater_equal()) == listed.end();
    if (!ascend || (!listed.empty() && (listed.front() < 0 || listed.back() >= dimension.extent))) {
      defect("group {} \"{}\": the coordinates of \"{}\" do not ascend from 0 to at most {}", group,
             program_.groups[group].name, dimension.name, dimension.extent - 1);
    }
  }

  void check_stages() {
    const int pipeline = program_.views.empty() ? -1 : program_.views.front().find("pp");
    const int stages = pipeline < 0 ? 1 : program_.views.front().dimensions[static_cast<std::size_t>(pipeline)].extent;
    for (std::size_t i = 0; i < program_.stage_of_virtual.size(); ++i) {
      const int stage = program_.stage_of_virtual[i];
      if (stage < 0 || stage >= stages) defect("virtual stage {}: there is no stage {}", i, stage);
    }
  }

  void check_ranks() {
    std::vector<bool> used(program_.roles.size());
    for (std::size_t rank = 0; rank < program_.role_of_rank.size(); ++rank) {
      const std::uint32_t role = program_.role_of_rank[rank];
      if (role < used.size()) {
        used[role] = true;
      } else {
        defect("rank {}: there is no role {}", rank, role);
      }
    }
    for (std::uint32_t i = 0; i < used.size(); ++i) {
      if (!used[i]) defect("{}: no rank has this role", place_of_role(program_, i));
    }
  }

  void check_stages_of_roles() {
    const int pipeline = program_.views.front().find("pp");
    std::vector<bool> reported(program_.roles.size());
    for (std::int32_t rank = 0; rank < program_.ranks(); ++rank) {
      const std::uint32_t index = program_.role_of_rank[static_cast<std::size_t>(rank)];
      const int stage = pipeline < 0 ? 0 : program_.views.front().coordinate(Rank{rank}, pipeline);
      if (stage == program_.roles[index].stage || reported[index]) continue;
      defect("{}: it belongs to stage {}, its rank {} to stage {}", place_of_role(program_, index),
             program_.roles[index].stage, rank, stage);
      reported[index] = true;
    }
  }

  // ---- One role ----
  void check_role() {
    for (const Buffer& buffer : role().buffers) {
      if (buffer.size.value() < 0) defect("{}, buffer \"{}\": {} bytes", place(), buffer.name, buffer.size.value());
    }
    for (block_ = 0; block_ < role().blocks.size(); ++block_) check_block();
    for (std::uint32_t action = 0; action < role().schedule.size(); ++action) check_action(action);
  }

  void check_block() {
    const Block& block = role().blocks[block_];
    if (!is_virtual_stage(block.virtual_stage)) {
      defect("{}, block {} ({}): there is no virtual stage {}", place(), block_, name(block.kind), block.virtual_stage);
    } else if (program_.stage_of_virtual[static_cast<std::size_t>(block.virtual_stage)] != role().stage) {
      defect("{}, block {} ({}): virtual stage {} is on another stage", place(), block_, name(block.kind),
             block.virtual_stage);
    }
    for (operation_ = 0; operation_ < block.operations.size(); ++operation_) check_operation();
  }

  bool is_virtual_stage(int stage) const {
    return stage >= 0 && stage < static_cast<int>(program_.stage_of_virtual.size());
  }
  std::string here() const { return place_in_block(program_, role_, block_, operation_); }

  void check_operation() {
    const Operation& operation = role().blocks[block_].operations[operation_];
    for (const OperationId earlier : operation.after) {
      if (earlier.value >= operation_) defect("{}: it waits for {}, which is not earlier", here(), earlier.value);
    }
    for (const auto* buffers : {&operation.reads, &operation.writes, &operation.allocates, &operation.frees}) {
      for (const BufferId buffer : *buffers) {
        if (buffer.value >= role().buffers.size()) defect("{}: there is no buffer {}", here(), buffer.value);
      }
    }
    if (std::holds_alternative<Host>(operation.work) != (operation.lane == Lane::kHost)) {
      defect("{}: the host lane holds the host's work and nothing else", here());
    }
    std::visit([this](const auto& work) { check_work(work); }, operation.work);
  }

  void check_bytes(hw_models::Bytes bytes) {
    if (bytes.value() < 0) defect("{}: {} bytes", here(), bytes.value());
  }
  void check_work(const Compute&) {}
  void check_work(const Host&) {}
  void check_work(const Checkpoint& work) { check_bytes(work.bytes); }
  void check_work(const Send& work) { check_message(work.virtual_stage, work.bytes); }
  void check_work(const Receive& work) { check_message(work.virtual_stage, work.bytes); }
  void check_message(int virtual_stage, hw_models::Bytes bytes) {
    check_bytes(bytes);
    if (!is_virtual_stage(virtual_stage)) defect("{}: there is no virtual stage {}", here(), virtual_stage);
  }
  void check_work(const Collective& work) {
    check_bytes(work.bytes);
    for (const hw_models::Bytes bytes : work.member_bytes) check_bytes(bytes);
    if (work.group.value >= program_.groups.size()) {
      defect("{}: there is no group {}", here(), work.group.value);
      return;
    }
    const Group& group = program_.groups[work.group.value];
    const int size = group.size(program_.views[static_cast<std::size_t>(group.view)]);
    if (!work.member_bytes.empty() && static_cast<int>(work.member_bytes.size()) != size) {
      defect("{}: it lists the bytes of {} members, the group has {}", here(), work.member_bytes.size(), size);
    }
  }

  // ---- The schedule ----
  void check_action(std::uint32_t index) {
    const Action& action = role().schedule[index];
    if (action.block >= role().blocks.size()) {
      defect("{}, action {}: there is no block {}", place(), index, action.block);
      return;
    }
    if (action.microbatch < -1) {
      defect("{}, action {}: there is no microbatch {}", place(), index, action.microbatch);
    }
    for (const CrossDependence& d : action.after) check_cross_dependence(index, d);
  }

  void check_cross_dependence(std::uint32_t index, const CrossDependence& d) {
    const std::string here = place_of_action(program_, role_, index);
    if (d.steps_back < 0 || d.action >= role().schedule.size() || (d.steps_back == 0 && d.action >= index)) {
      defect("{}: it waits for action {}, {} steps back, which is not earlier", here, d.action, d.steps_back);
      return;
    }
    const std::uint32_t earlier = role().schedule[d.action].block;
    if (earlier >= role().blocks.size()) return;  // reported at that action
    if (d.operation.value >= role().blocks[earlier].operations.size()) {
      defect("{}: action {} has no operation {} to wait for", here, d.action, d.operation.value);
    }
    if (d.dependent.value >= role().blocks[role().schedule[index].block].operations.size()) {
      defect("{}: it has no operation {}", here, d.dependent.value);
    }
  }

  const Program& program_;
  std::vector<std::string>& defects_;
  std::uint32_t role_ = 0, block_ = 0, operation_ = 0;
};

}  // namespace

void check_references(const Program& program, std::vector<std::string>& defects) {
  References(program, defects).check();
}

}  // namespace strategies
