#include "scenarios/accuracy/csv.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/load/diagnostics.h"

namespace scenarios {
namespace {

constexpr std::size_t kMostColumns = 1000;

class CsvParser {
 public:
  CsvParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  CsvTable run() {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    if (at_ == text_.size()) fail("the file is empty", "a table begins with a line of column names");
    CsvTable table{file_, {}, {}};
    table.columns = row().cells;
    check_header(table.columns);
    while (at_ < text_.size()) {
      CsvRow next = row();
      if (next.cells.size() == 1 && next.cells.front().empty()) continue;  // an empty line
      if (next.cells.size() != table.columns.size()) {
        fail_at(next.line, 1,
                fmt::format("the row has {} cells, the header {}", next.cells.size(), table.columns.size()),
                "a comma inside a cell needs quotes");
      }
      table.rows.push_back(std::move(next));
    }
    return table;
  }

 private:
  [[noreturn]] void fail_at(int line, int column, const std::string& message, const std::string& advice) const {
    throw InputError(fmt::format("{}:{}:{}: error: {}\n  {}\n", file_, line, column, message, advice));
  }
  [[noreturn]] void fail(const std::string& message, const std::string& advice) const {
    fail_at(line_, column_, message, advice);
  }

  void check_header(const std::vector<std::string>& columns) {
    std::vector<std::string> sorted = columns;
    std::ranges::sort(sorted);
    if (sorted.front().empty()) fail_at(1, 1, "a column has no name", "name every column");
    const auto twice = std::ranges::adjacent_find(sorted);
    if (twice == sorted.end()) return;
    fail_at(1, 1, fmt::format("column '{}' stands twice", shortened(*twice)), "rename one of them");
  }

  char take() {
    const char c = text_[at_++];
    if (c == '\0') fail("a NUL byte", "this is not a text file");
    if (c == '\n') {
      ++line_;
      column_ = 1;
    } else {
      ++column_;
    }
    return c;
  }

  CsvRow row() {
    CsvRow next{line_, {}, {}};
    for (;;) {
      if (next.cells.size() == kMostColumns)
        fail(fmt::format("more than {} columns", kMostColumns), "is this the table?");
      next.columns.push_back(column_);
      next.cells.push_back(cell());
      if (at_ == text_.size()) return next;
      const char end = take();
      if (end == '\n') return next;
      if (end == '\r' && at_ < text_.size() && text_[at_] == '\n') {
        take();
        return next;
      }
      if (end == '\r') fail("a carriage return without a line feed", "end lines with LF or CR LF");
      if (end != ',') fail("text after a closing quote", "double the quotes inside a cell: \"\"");
    }
  }

  std::string cell() {
    if (at_ < text_.size() && text_[at_] == '"') return quoted();
    std::string value;
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n' && text_[at_] != '\r') {
      if (text_[at_] == '"') fail("a quote inside an unquoted cell", "quote the whole cell and double its quotes");
      value += take();
    }
    return value;
  }

  std::string quoted() {
    const int line = line_, column = column_;
    take();
    std::string value;
    while (at_ < text_.size()) {
      const char c = take();
      if (c != '"') {
        value += c;
      } else if (at_ < text_.size() && text_[at_] == '"') {
        value += take();
      } else {
        return value;
      }
    }
    fail_at(line, column, "the quote is never closed", "end the cell with a quote");
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 1, column_ = 1;
};

}  // namespace

std::optional<std::size_t> CsvTable::find(std::string_view column) const {
  const auto found = std::ranges::find(columns, column);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

CsvTable parse_csv(std::string_view text, const std::string& file) { return CsvParser(text, file).run(); }

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace scenarios
