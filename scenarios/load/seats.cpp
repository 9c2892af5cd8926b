#include "scenarios/load/seats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "scenarios/accuracy/csv.h"
#include "scenarios/load/diagnostics.h"

namespace scenarios {
namespace {

constexpr std::size_t kMostFindings = 20;
constexpr std::array<std::string_view, 4> kColumns{"rank", "host", "device", "nic"};

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

class SeatTable {
 public:
  SeatTable(const CsvTable& table, std::string_view text, const SeatLimits& limits)
      : table_(table), diagnostics_(table.file, text), limits_(limits) {}

  std::vector<strategies::Seat> run() {
    find_columns();
    refuse_findings();
    name_hosts();
    for (const CsvRow& row : table_.rows) {
      add(row);
      if (diagnostics_.findings().size() >= kMostFindings) break;
    }
    refuse_findings();
    refuse_missing_ranks();
    std::vector<strategies::Seat> seats;
    for (const auto& [rank, taken] : by_rank_) seats.push_back(taken.seat);
    return seats;
  }

 private:
  struct Taken {
    strategies::Seat seat;
    int line = 0;
  };

  void refuse_findings() const {
    if (diagnostics_.has_errors()) throw InputError(diagnostics_.print());
  }

  void find_columns() {
    for (std::size_t c = 0; c < kColumns.size(); ++c) {
      columns_[c] = table_.find(kColumns[c]);
      if (columns_[c] || kColumns[c] == "nic") continue;
      diagnostics_.error({1, 1}, fmt::format("there is no column '{}'", kColumns[c]),
                         "begin with a line rank,host,device or rank,host,device,nic");
    }
    for (const std::string& name : table_.columns) {
      if (std::ranges::find(kColumns, name) != kColumns.end()) continue;
      diagnostics_.error({1, 1}, fmt::format("unknown column '{}'", shortened(name)), "known: rank, host, device, nic");
    }
  }

  static const std::string& cell(const CsvRow& row, std::size_t column) { return row.cells[column]; }
  static Place place(const CsvRow& row, std::size_t column) { return {row.line, row.columns[column]}; }

  /// Names become numbers in the order in which they appear; a table that begins with a number has numbers.
  void name_hosts() {
    const std::size_t column = *columns_[1];
    if (table_.rows.empty() || is_number(cell(table_.rows.front(), column))) return;
    named_ = true;
    for (const CsvRow& row : table_.rows) {
      const std::string& name = cell(row, column);
      if (name.empty() || is_number(name) || std::cmp_greater_equal(numbers_.size(), limits_.hosts)) continue;
      numbers_.try_emplace(name, static_cast<int>(numbers_.size()));
    }
  }

  /// The number in a cell, below `limit`.
  std::optional<int> number(const CsvRow& row, std::size_t column, std::string_view what, int limit) {
    const std::string& text = cell(row, column);
    int value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (is_number(text) && status == std::errc() && value < limit) return value;
    diagnostics_.error(place(row, column), fmt::format("there is no {} '{}'", what, shortened(text)),
                       limit == 0 ? "the nodes of the cluster have none" : fmt::format("use 0 to {}", limit - 1));
    return std::nullopt;
  }

  std::optional<int> host(const CsvRow& row) {
    const std::size_t column = *columns_[1];
    const std::string& name = cell(row, column);
    if (named_ == is_number(name)) {
      diagnostics_.error(
          place(row, column),
          fmt::format("host '{}' beside hosts that are {}", shortened(name), named_ ? "names" : "numbers"),
          "use either throughout");
      return std::nullopt;
    }
    if (!named_) return number(row, column, "host", limits_.hosts);
    const auto known = numbers_.find(name);
    if (known != numbers_.end()) return known->second;
    diagnostics_.error(place(row, column),
                       name.empty() ? "a row without a host"
                                    : fmt::format("host '{}' is one more than the {} nodes of the cluster",
                                                  shortened(name), limits_.hosts),
                       fmt::format("give the cluster more nodes or use the {} hosts above", numbers_.size()));
    return std::nullopt;
  }

  std::optional<int> nic(const CsvRow& row) {
    if (!columns_[3] || cell(row, *columns_[3]).empty()) return -1;
    return number(row, *columns_[3], "NIC", limits_.nics_per_host);
  }

  void add(const CsvRow& row) {
    const std::optional<int> rank = number(row, *columns_[0], "rank", limits_.ranks);
    const std::optional<int> on = host(row);
    const std::optional<int> device = number(row, *columns_[2], "device", limits_.gpus_per_host);
    const std::optional<int> by = nic(row);
    if (!rank || !on || !device || !by) return;
    const auto [seat, is_new] = by_rank_.try_emplace(*rank, Taken{{*on, *device, *by}, row.line});
    if (!is_new) {
      diagnostics_.error(place(row, *columns_[0]), fmt::format("a second row for rank {}", *rank),
                         fmt::format("the first is in line {}", seat->second.line));
      return;
    }
    const auto [gpu, is_free] = rank_on_.try_emplace(std::pair(*on, *device), *rank);
    if (is_free) return;
    diagnostics_.error(place(row, *columns_[2]),
                       fmt::format("device {} of host {} hosts rank {} already", *device,
                                   shortened(cell(row, *columns_[1])), gpu->second),
                       fmt::format("see line {}; every rank has a GPU of its own", by_rank_.at(gpu->second).line));
  }

  void refuse_missing_ranks() const {
    const auto missing = limits_.ranks - static_cast<int>(by_rank_.size());
    if (missing == 0) return;
    int first = 0;
    while (by_rank_.contains(first)) ++first;
    throw InputError(fmt::format("{}: error: no row for rank {}{}\n  each of the {} ranks of the plan needs one\n",
                                 table_.file, first, missing > 1 ? fmt::format(" and {} others", missing - 1) : "",
                                 limits_.ranks));
  }

  const CsvTable& table_;
  Diagnostics diagnostics_;
  const SeatLimits& limits_;
  std::array<std::optional<std::size_t>, kColumns.size()> columns_;
  bool named_ = false;
  std::map<std::string, int> numbers_;  ///< of named hosts
  std::map<int, Taken> by_rank_;
  std::map<std::pair<int, int>, int> rank_on_;  ///< by host and device
};

}  // namespace

std::vector<strategies::Seat> parse_seats(std::string_view text, const std::string& file, const SeatLimits& limits) {
  const CsvTable table = parse_csv(text, file);
  return SeatTable(table, text, limits).run();
}

}  // namespace scenarios
