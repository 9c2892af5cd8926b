#include "scenarios/collectives/nccl_tests_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "scenarios/load/diagnostics.h"

namespace scenarios {
namespace {

constexpr std::array<std::string_view, 15> kTypes{"int8",     "uint8",    "int32",  "uint32", "int64",
                                                  "uint64",   "half",     "float",  "double", "bfloat16",
                                                  "fp8_e4m3", "fp8_e5m2", "f8e4m3", "f8e5m2", "float8"};
constexpr std::array<std::string_view, 8> kReductions{"sum", "prod", "max", "min", "avg", "mulsum", "none", "all"};
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
constexpr std::size_t kMostWarnings = 20;

struct Word {
  std::string_view text;
  int column;  ///< 1-based
};

std::vector<Word> words_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<Word> words;
  for (std::size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.push_back({line.substr(at, end - at), static_cast<int>(at) + 1});
    at = line.find_first_not_of(kBlank, end);
  }
  return words;
}

template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> positive(std::string_view text) {
  const std::optional<double> value = whole_number<double>(text);
  return value && *value >= 0 && *value < 1e15 ? value : std::nullopt;
}

/// Index of the word after "size count type redop [root]", and the row so far. A tag may be glued to the size.
struct RowStart {
  NcclTestsRow row;
  std::size_t next = 0;
  int column = 0;
};

std::optional<std::int64_t> size_of(std::string_view text) {
  const std::size_t tag = text.find_last_of(":>]");  // "[1,0]<stdout>:8", "host0:8"
  if (tag != std::string_view::npos) text.remove_prefix(tag + 1);
  const auto bytes = whole_number<std::int64_t>(text);
  return bytes && *bytes >= 0 && *bytes <= kMostBytes ? bytes : std::nullopt;
}

std::optional<RowStart> row_start(const std::vector<Word>& words) {
  for (std::size_t i = 0; i + 3 < words.size(); ++i) {
    const bool type = std::ranges::find(kTypes, words[i + 2].text) != kTypes.end();
    const bool reduction = std::ranges::find(kReductions, words[i + 3].text) != kReductions.end();
    if (!type || !reduction || !whole_number<std::int64_t>(words[i + 1].text)) continue;
    const std::optional<std::int64_t> bytes = size_of(words[i].text);
    if (!bytes) continue;
    RowStart start{{}, i + 4, words[i].column};
    start.row.bytes = *bytes;
    start.row.type = words[i + 2].text;
    start.row.reduction = words[i + 3].text;
    // The root, since 2.12, is a whole number and followed by at least three more numbers.
    const auto number = [&](std::size_t at) { return at < words.size() && positive(words[at].text).has_value(); };
    const bool whole = start.next < words.size() && whole_number<int>(words[start.next].text).has_value();
    if (whole && number(start.next + 1) && number(start.next + 2) && number(start.next + 3)) ++start.next;
    return start;
  }
  return std::nullopt;
}

/// A root may be missing, and then a whole number of microseconds looks like one: of "-1 12 0.5 0.9" only the text
/// before it tells. A root is negative, or the algorithm bandwidth fits the time of the word after it.
bool fits(const NcclTestsRow& row) {
  if (row.time_us <= 0) return false;
  const double expected = static_cast<double>(row.bytes) / row.time_us / 1e3;
  return std::abs(expected - row.algbw) <= 0.006 + 0.03 * expected;
}

std::optional<NcclTestsRow> complete(const RowStart& start, const std::vector<Word>& words, std::size_t next) {
  if (next + 2 >= words.size()) return std::nullopt;
  const auto time = positive(words[next].text), algbw = positive(words[next + 1].text);
  const auto busbw = positive(words[next + 2].text);
  if (!time || !algbw || !busbw) return std::nullopt;
  NcclTestsRow row = start.row;
  row.time_us = *time;
  row.algbw = *algbw;
  row.busbw = *busbw;
  return fits(row) ? std::optional(row) : std::nullopt;
}

class OutputReader {
 public:
  OutputReader(std::string_view text, const std::string& file) : text_(text) { output_.file = file; }

  NcclTestsOutput run() {
    if (text_.empty()) fail("the file is empty", "redirect the output of all_reduce_perf into it");
    int line = 0;
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      read_line(text_.substr(at, end - at), ++line);
      at = end + 1;
    }
    if (output_.rows.empty()) {
      fail("no row of nccl-tests in it", "a row begins with size, count, type and redop, as all_reduce_perf prints");
    }
    keep_fastest();
    output_.ranks = static_cast<int>(devices_.size());
    if (output_.test == nullptr) output_.test = test_by_bandwidth();
    return std::move(output_);
  }

 private:
  [[noreturn]] void fail(const std::string& message, const std::string& advice) const {
    throw InputError(fmt::format("{}:1:1: error: {}\n  {}\n", output_.file, message, advice));
  }

  void read_line(std::string_view line, int number) {
    const std::size_t nul = line.find('\0');
    if (nul != std::string_view::npos) {
      throw InputError(
          fmt::format("{}:{}:{}: error: a NUL byte\n  this is not a text file\n", output_.file, number, nul + 1));
    }
    const std::vector<Word> words = words_of(line);
    read_device(words);
    read_test(line);
    const std::optional<RowStart> start = row_start(words);
    if (!start || start->row.bytes == 0) return;
    std::optional<NcclTestsRow> row = complete(*start, words, start->next);
    if (!row && start->next > 0) row = complete(*start, words, start->next - 1);
    if (row) {
      row->line = number;
      output_.rows.push_back(*row);
    } else if (output_.warnings.size() < kMostWarnings) {
      output_.warnings.push_back(fmt::format("{}:{}:{}: warning: the row of {} bytes is cut by other output; left out",
                                             output_.file, number, start->column, start->row.bytes));
    }
  }

  /// "#  Rank  0 Group  0 Pid  123 on  host device  0 [0x1b] NVIDIA H100"
  void read_device(const std::vector<Word>& words) {
    for (std::size_t i = 0; i + 2 < words.size(); ++i) {
      if (words[i].text != "Rank" || (words[i + 2].text != "Group" && words[i + 2].text != "Pid")) continue;
      if (const auto rank = whole_number<int>(words[i + 1].text)) devices_.insert(*rank);
    }
  }

  /// "# Collective test starting: all_reduce_perf"
  void read_test(std::string_view line) {
    constexpr std::string_view kStart = "Collective test starting:";
    const std::size_t at = line.find(kStart);
    if (at == std::string_view::npos) return;
    const std::vector<Word> words = words_of(line.substr(at + kStart.size()));
    if (words.empty()) return;
    std::string_view name = words.front().text;
    if (name.ends_with("_perf")) name.remove_suffix(5);
    output_.test = find_collective_test(name);
  }

  void keep_fastest() {
    std::ranges::stable_sort(output_.rows, [](const NcclTestsRow& a, const NcclTestsRow& b) {
      return a.bytes != b.bytes ? a.bytes < b.bytes : a.time_us < b.time_us;
    });
    const auto same = [](const NcclTestsRow& a, const NcclTestsRow& b) { return a.bytes == b.bytes; };
    output_.rows.erase(std::unique(output_.rows.begin(), output_.rows.end(), same), output_.rows.end());
  }

  /// Reductions have different ratios of bus to algorithm bandwidth; without one, gather and all-to-all are alike.
  const CollectiveTest* test_by_bandwidth() const {
    const NcclTestsRow& row = output_.rows.back();
    if (row.reduction == "none" || row.algbw <= 0) return nullptr;
    const double ratio = row.busbw / row.algbw;
    if (ratio > 1.02 || (output_.ranks == 2 && ratio > 0.9)) return find_collective_test("all_reduce");
    return find_collective_test(ratio < 0.98 ? "reduce_scatter" : "reduce");
  }

  std::string_view text_;
  NcclTestsOutput output_;
  std::set<int> devices_;
};

}  // namespace

NcclTestsOutput parse_nccl_tests(std::string_view text, const std::string& file) {
  return OutputReader(text, file).run();
}

}  // namespace scenarios
