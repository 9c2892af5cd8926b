#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "strategies/program/text.h"
#include "strategies/program/text_fields.h"

namespace strategies {
namespace {

/// More ranks than any cluster has; keeps a damaged run length from filling the memory.
constexpr std::size_t kMostRanks = std::size_t{1} << 24;

/// `text` up to the first `separator` outside quotes; `text` keeps what follows it.
std::string_view cut(std::string_view& text, char separator) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && text[i] == separator) {
      const std::string_view head = text.substr(0, i);
      text.remove_prefix(i + 1);
      return head;
    }
  }
  return std::exchange(text, {});
}

// ---- Values: read() is false where `text` is no value of the type --------------------------------------------------

template <class T>
bool read(std::string_view text, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = text == "true";
    return value || text == "false";
  } else if constexpr (text::kCount<T> > 0) {
    for (int i = 0; i < text::kCount<T>; ++i) {
      value = static_cast<T>(i);
      if (text::word(value) == text) return true;
    }
    return false;
  } else {
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    return result.ec == std::errc() && result.ptr == text.data() + text.size();
  }
}
bool read(std::string_view text, hw_models::Bytes& value) {
  std::int64_t bytes = 0;
  const bool good = read(text, bytes);
  value = hw_models::Bytes(bytes);
  return good;
}
bool read(std::string_view text, OperationId& id) { return read(text, id.value); }
bool read(std::string_view text, BufferId& id) { return read(text, id.value); }
bool read(std::string_view text, GroupId& id) { return read(text, id.value); }

bool read(std::string_view text, std::string& value) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return false;
  text = text.substr(1, text.size() - 2);
  value.clear();
  while (!text.empty()) {
    char c = text.front();
    std::size_t length = 1;
    if (c == '"') return false;
    if (c == '\\') {
      if (text.size() < 2) return false;
      c = text[1];
      length = 2;
      if (c == 'x') {
        unsigned code = 0;
        if (text.size() < 4) return false;
        const auto result = std::from_chars(text.data() + 2, text.data() + 4, code, 16);
        if (result.ec != std::errc() || result.ptr != text.data() + 4) return false;
        c = static_cast<char>(code);
        length = 4;
      }
    }
    value.push_back(c);
    text.remove_prefix(length);
  }
  return true;
}

bool read(std::string_view text, CrossDependence& d) {
  return read(cut(text, ':'), d.steps_back) && read(cut(text, '.'), d.action) && read(cut(text, '>'), d.operation) &&
         read(text, d.dependent);
}

bool read(std::string_view text, Group::Span& span) {
  if (!read(cut(text, ':'), span.dimension)) return false;
  while (!text.empty()) {
    if (!read(cut(text, '/'), span.coordinates.emplace_back())) return false;
  }
  return true;
}

template <class T>
bool read(std::string_view text, std::vector<T>& values) {
  values.clear();
  while (!text.empty()) {
    if (!read(cut(text, ','), values.emplace_back())) return false;
  }
  return true;
}

// ---- Lines ---------------------------------------------------------------------------------------------------------

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Program parse() {
    next();
    if (keyword_ != "program") fail("a program starts with 'program'");
    value(word("the implementation"), program_.implementation);
    fields(program_);
    next();
    while (keyword_ == "view") parse_view();
    while (keyword_ == "group") parse_group();
    expect("stages");
    if (!line_.empty()) value(word("virtual stages"), program_.stage_of_virtual);
    end_line();
    expect("ranks");
    parse_runs();
    while (keyword_ == "role") parse_role();
    if (!at_end_) fail(fmt::format("'{}' is not expected here", keyword_));
    return std::move(program_);
  }

 private:
  [[noreturn]] void fail(std::string message) const { throw TextError{number_, std::move(message)}; }

  // ---- Words of a line ----
  void next() {
    ++number_;
    at_end_ = text_.empty();
    const std::size_t end = text_.find('\n');
    line_ = text_.substr(0, end);
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
    line_.remove_prefix(std::min(line_.size(), line_.find_first_not_of(' ')));
    keyword_ = cut(line_, ' ');
  }
  void end_line() {
    if (!line_.empty()) fail(fmt::format("'{}' is not expected here", line_));
    next();
  }
  void expect(std::string_view keyword) const {
    if (keyword_ != keyword || at_end_) fail(fmt::format("expected '{}'", keyword));
  }
  std::string_view word(std::string_view what) {
    const std::string_view head = cut(line_, ' ');
    if (head.empty()) fail(fmt::format("{} missing", what));
    return head;
  }
  template <class T>
  void value(std::string_view text, T& into) const {
    if (!read(text, into)) fail(fmt::format("'{}' is not a valid value", text));
  }

  /// The rest of the line: fields of any of the `owners`.
  template <class... Owners>
  void fields(Owners&... owners) {
    while (!line_.empty()) {
      std::string_view rest = word("a field");
      const std::string_view name = cut(rest, '=');
      if (!(field(name, rest, owners) || ...)) fail(fmt::format("'{}' is not a field of this line", name));
    }
  }
  template <class Owner>
  bool field(std::string_view name, std::string_view text, Owner& owner) const {
    const auto attempt = [&](const auto& f) {
      if (f.name != name) return false;
      value(text, owner.*f.member);
      return true;
    };
    return std::apply([&](const auto&... f) { return (attempt(f) || ...); }, text::Description<Owner>::kFields);
  }

  /// "keyword index ...": the index must be the number of elements so far.
  void index(std::string_view text, std::size_t count) const {
    std::size_t given = 0;
    if (!read(text, given) || given != count) fail(fmt::format("expected number {}, not '{}'", count, text));
  }

  // ---- Parts ----
  void parse_view() {
    index(word("a number"), program_.views.size());
    Mesh& view = program_.views.emplace_back();
    while (!line_.empty()) {
      std::string_view rest = word("a dimension");
      Dimension& dimension = view.dimensions.emplace_back();
      value(cut(rest, '='), dimension.name);
      value(rest, dimension.extent);
    }
    next();
  }

  void parse_group() {
    index(word("a number"), program_.groups.size());
    Group& group = program_.groups.emplace_back();
    value(word("a name"), group.name);
    fields(group);
    next();
  }

  void parse_runs() {
    std::vector<std::uint32_t>& roles = program_.role_of_rank;
    if (!line_.empty()) {
      std::string_view runs = word("roles");
      while (!runs.empty()) {
        std::string_view run = cut(runs, ',');
        std::uint32_t role = 0;
        std::size_t count = 0;
        value(cut(run, 'x'), role);
        value(run, count);
        if (count > kMostRanks - roles.size()) fail(fmt::format("more than {} ranks", kMostRanks));
        roles.insert(roles.end(), count, role);
      }
    }
    end_line();
  }

  void parse_role() {
    index(word("a number"), program_.roles.size());
    Role& role = program_.roles.emplace_back();
    value(word("a name"), role.name);
    fields(role);
    next();
    while (keyword_ == "buffer") parse_buffer(role.buffers);
    while (keyword_ == "block") parse_block(role.blocks);
    while (keyword_ == "action") {
      index(word("a number"), role.schedule.size());
      fields(role.schedule.emplace_back());
      next();
    }
  }

  void parse_buffer(std::vector<Buffer>& buffers) {
    index(word("a number"), buffers.size());
    Buffer& buffer = buffers.emplace_back();
    value(word("a name"), buffer.name);
    fields(buffer, buffer.slice);
    next();
  }

  void parse_block(std::vector<Block>& blocks) {
    index(word("a number"), blocks.size());
    Block& block = blocks.emplace_back();
    value(word("a kind"), block.kind);
    fields(block);
    next();
    while (!keyword_.empty() && keyword_.front() >= '0' && keyword_.front() <= '9') {
      index(keyword_, block.operations.size());
      parse_operation(block.operations.emplace_back());
      next();
    }
  }

  void parse_operation(Operation& operation) {
    value(word("a lane"), operation.lane);
    const std::string_view what = word("an operation");
    Collective collective;
    if (read(what, collective.kind)) {
      return parse_work(operation, std::move(collective));
    }
    if (parse_alternative<Send, Receive, Host, Checkpoint>(operation, what)) return;
    using namespace hw_models;  // NOLINT(google-build-using-namespace): the kernels
    if (parse_alternative<Matmul, Attention, Norm, Elementwise, Embedding, CrossEntropy, Optimizer, SquaredNorm, Route,
                          Measured>(operation, what)) {
      return;
    }
    fail(fmt::format("'{}' is no operation", what));
  }
  template <class... Alternatives>
  bool parse_alternative(Operation& operation, std::string_view what) {
    return ((text::Description<Alternatives>::kWord == what && (parse_work(operation, Alternatives{}), true)) || ...);
  }
  template <class T>
  void parse_work(Operation& operation, T work) {
    fields(work, operation, operation.origin);
    if constexpr (std::is_constructible_v<hw_models::Kernel, T>) {
      operation.work = Compute{std::move(work)};
    } else {
      operation.work = std::move(work);
    }
  }

  std::string_view text_, line_, keyword_;
  int number_ = 0;
  bool at_end_ = false;
  Program program_;
};

/// Everything print_program would not have written this way: other spacing, order, spelling of a number.
void require_canonical(const Program& program, std::string_view text) {
  const std::string printed = print_program(program);
  if (text == printed) return;
  std::string_view given = text, canonical = printed;
  for (int line = 1;; ++line) {
    const std::string_view expected = canonical.substr(0, canonical.find('\n'));
    if (given.substr(0, given.find('\n')) != expected || given.size() <= expected.size() ||
        canonical.size() <= expected.size()) {
      throw TextError{line, fmt::format("expected '{}'", expected)};
    }
    given.remove_prefix(expected.size() + 1);
    canonical.remove_prefix(expected.size() + 1);
  }
}

}  // namespace

Program parse_program(std::string_view text) {
  Program program = Parser(text).parse();
  require_canonical(program, text);
  return program;
}

}  // namespace strategies
