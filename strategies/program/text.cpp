#include "strategies/program/text.h"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <vector>

#include "strategies/program/text_fields.h"

namespace strategies {
namespace {

class Printer {
 public:
  std::string take() { return std::move(out_); }

  void print(const Program& program) {
    begin(0, "program");
    put(' '), write(program.implementation);
    fields(program);
    for (std::size_t i = 0; i < program.views.size(); ++i) print(program.views[i], i);
    for (std::size_t i = 0; i < program.groups.size(); ++i) {
      begin(0, "group", i);
      put(' '), write(program.groups[i].name);
      fields(program.groups[i]);
    }
    begin(0, "stages");
    if (!program.stage_of_virtual.empty()) put(' '), write(program.stage_of_virtual);
    begin(0, "ranks");
    print_runs(program.role_of_rank);
    for (std::size_t i = 0; i < program.roles.size(); ++i) print(program.roles[i], i);
    put('\n');
  }

 private:
  void put(char c) { out_.push_back(c); }
  void put(std::string_view text) { out_.append(text); }

  /// Starts a line; the one before ends here.
  void begin(std::size_t indent, std::string_view keyword) {
    if (!out_.empty()) put('\n');
    out_.append(indent, ' ');
    put(keyword);
  }
  void begin(std::size_t indent, std::string_view keyword, std::size_t index) {
    begin(indent, keyword);
    if (!keyword.empty()) put(' ');
    write(index);
  }

  // ---- Values ----
  template <class T>
  void write(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      put(value ? "true" : "false");
    } else if constexpr (text::kCount<T> > 0) {
      put(text::word(value));
    } else if constexpr (std::is_integral_v<T>) {
      char digits[24];
      const auto result = std::to_chars(digits, std::end(digits), value);
      put(std::string_view(digits, static_cast<std::size_t>(result.ptr - digits)));
    } else {
      fmt::format_to(std::back_inserter(out_), "{}", value);  // a double: the shortest text that reads back the same
    }
  }
  void write(hw_models::Bytes bytes) { write(bytes.value()); }
  void write(OperationId id) { write(id.value); }
  void write(BufferId id) { write(id.value); }
  void write(GroupId id) { write(id.value); }
  void write(const std::string& text) {
    put('"');
    for (const char c : text) {
      if (c == '"' || c == '\\') {
        put('\\'), put(c);
      } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
        fmt::format_to(std::back_inserter(out_), "\\x{:02x}", static_cast<unsigned>(c));
      } else {
        put(c);
      }
    }
    put('"');
  }
  void write(const CrossDependence& d) {
    write(d.steps_back), put(':'), write(d.action), put('.'), write(d.operation), put('>'), write(d.dependent);
  }
  void write(const Group::Span& span) {
    write(span.dimension);
    for (std::size_t i = 0; i < span.coordinates.size(); ++i) put(i == 0 ? ':' : '/'), write(span.coordinates[i]);
  }
  template <class T>
  void write(const std::vector<T>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) put(',');
      write(values[i]);
    }
  }

  /// " name=value" of every field that differs from its default or is always written.
  template <class T>
  void fields(const T& owner) {
    static const T defaults{};
    const auto field = [&](const auto& f) {
      if (!f.always && owner.*f.member == defaults.*f.member) return;
      put(' '), put(f.name), put('='), write(owner.*f.member);
    };
    std::apply([&](const auto&... f) { (field(f), ...); }, text::Description<T>::kFields);
  }

  // ---- Parts ----
  void print(const Mesh& view, std::size_t index) {
    begin(0, "view", index);
    for (const Dimension& dimension : view.dimensions) {
      put(' '), write(dimension.name), put('='), write(dimension.extent);
    }
  }

  /// role x count of every run of equal roles.
  void print_runs(const std::vector<std::uint32_t>& role_of_rank) {
    std::size_t end = 0;
    for (std::size_t i = 0; i < role_of_rank.size(); i = end) {
      while (end < role_of_rank.size() && role_of_rank[end] == role_of_rank[i]) ++end;
      put(i == 0 ? ' ' : ','), write(role_of_rank[i]), put('x'), write(end - i);
    }
  }

  void print(const Role& role, std::size_t index) {
    begin(0, "role", index);
    put(' '), write(role.name);
    fields(role);
    for (std::size_t i = 0; i < role.buffers.size(); ++i) {
      begin(2, "buffer", i);
      put(' '), write(role.buffers[i].name);
      fields(role.buffers[i]);
      fields(role.buffers[i].slice);
    }
    for (std::size_t i = 0; i < role.blocks.size(); ++i) {
      begin(2, "block", i);
      put(' '), write(role.blocks[i].kind);
      fields(role.blocks[i]);
      const std::vector<Operation>& operations = role.blocks[i].operations;
      for (std::size_t o = 0; o < operations.size(); ++o) print(operations[o], o);
    }
    for (std::size_t i = 0; i < role.schedule.size(); ++i) {
      begin(2, "action", i);
      fields(role.schedule[i]);
    }
  }

  void print(const Operation& operation, std::size_t index) {
    begin(4, "", index);
    put(' '), write(operation.lane), put(' ');
    std::visit([this](const auto& work) { print(work); }, operation.work);
    fields(operation);
    fields(operation.origin);
  }
  void print(const Compute& work) {
    std::visit([this](const auto& kernel) { print(kernel); }, work.kernel);
  }
  void print(const Collective& work) { write(work.kind), fields(work); }
  template <class T>
  void print(const T& work) {
    put(text::Description<T>::kWord), fields(work);
  }

  std::string out_;
};

}  // namespace

std::string print_program(const Program& program) {
  Printer printer;
  printer.print(program);
  return printer.take();
}

}  // namespace strategies
