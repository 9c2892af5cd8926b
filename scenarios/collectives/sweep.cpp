#include "scenarios/collectives/sweep.h"

#include <fmt/format.h>

#include <charconv>

#include "scenarios/load/diagnostics.h"

namespace scenarios {
namespace {

constexpr std::int64_t kMostGpus = 1'000'000, kMostBytes = std::int64_t{1} << 50;
constexpr double kLongestUs = 1e12;

class SweepReader {
 public:
  SweepReader(const CsvTable& table, const CsvRow& row) : table_(table), row_(row) {}

  const std::string& text(std::string_view column) const { return row_.cells[index(column)]; }

  double number(std::string_view column, double most) const {
    const std::string& cell = text(column);
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    const bool whole = error == std::errc{} && end == cell.data() + cell.size();
    if (!whole || !(value > 0 && value <= most)) fail(column, fmt::format("a number above 0, at most {:g}", most));
    return value;
  }

  std::int64_t integer(std::string_view column, std::int64_t most) const {
    const double value = number(column, static_cast<double>(most));
    const auto whole = static_cast<std::int64_t>(value);
    if (static_cast<double>(whole) != value) fail(column, "a whole number");
    return whole;
  }

  [[noreturn]] void fail(std::string_view column, const std::string& expected) const {
    throw InputError(fmt::format("{}:{}:{}: error: '{}' in column '{}'\n  expected {}\n", table_.file, row_.line,
                                 row_.columns[index(column)], shortened(text(column)), column, expected));
  }

 private:
  std::size_t index(std::string_view column) const {
    if (const auto found = table_.find(column)) return *found;
    throw InputError(
        fmt::format("{}:1:1: error: column '{}' is missing\n  docs/nccl.md lists the columns\n", table_.file, column));
  }

  const CsvTable& table_;
  const CsvRow& row_;
};

MeasuredCollective read_row(const SweepReader& row) {
  MeasuredCollective measured;
  measured.system = row.text("system");
  measured.gpu = row.text("gpu");
  measured.interconnect = row.text("interconnect");
  measured.source = row.text("source");
  measured.gpus = static_cast<int>(row.integer("gpus", kMostGpus));
  measured.nodes = static_cast<int>(row.integer("nodes", kMostGpus));
  if (measured.gpus % measured.nodes != 0) row.fail("gpus", "a multiple of the nodes");
  measured.test = find_collective_test(row.text("collective"));
  if (measured.test == nullptr) row.fail("collective", "a test of nccl-tests: all_reduce, all_gather, alltoall ...");
  measured.bytes = row.integer("bytes", kMostBytes);
  measured.time_us = row.number("time_us", kLongestUs);
  measured.int8 = measured.source.ends_with(" int8") && !measured.source.ends_with("and int8");
  return measured;
}

}  // namespace

std::vector<MeasuredCollective> read_sweep(const CsvTable& table) {
  std::vector<MeasuredCollective> rows;
  rows.reserve(table.rows.size());
  for (const CsvRow& row : table.rows) rows.push_back(read_row({table, row}));
  return rows;
}

}  // namespace scenarios
