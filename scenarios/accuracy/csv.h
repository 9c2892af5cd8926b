// Comma-separated tables (RFC 4180: quotes, doubled quotes, line breaks inside quotes) with a header line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scenarios {

/// Bytes of a file that is read as a table.
inline constexpr std::size_t kLargestTable = std::size_t{1} << 26;

struct CsvRow {
  int line = 0;                    ///< 1-based, where the row begins
  std::vector<std::string> cells;  ///< as many as the header has
  std::vector<int> columns;        ///< 1-based, where each cell begins
};

struct CsvTable {
  std::string file;
  std::vector<std::string> columns;
  std::vector<CsvRow> rows;

  std::optional<std::size_t> find(std::string_view column) const;
};

/// `text` as a cell, quoted where it must be.
std::string csv_cell(const std::string& text);

/// Throws InputError naming file:line:column for wrong quoting, NUL bytes, rows of another width than the header,
/// repeated or empty column names, more than 1000 columns, and an empty file.
CsvTable parse_csv(std::string_view text, const std::string& file);

}  // namespace scenarios
