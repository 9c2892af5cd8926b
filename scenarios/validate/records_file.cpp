#include "scenarios/validate/records_file.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "scenarios/load/diagnostics.h"
#include "scenarios/load/read_file.h"
#include "scenarios/load/utf8.h"
#include "strategies/program/fingerprint.h"

namespace scenarios {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 31;
constexpr std::string_view kFingerprint = "fingerprint,", kHeader = "rank,step,action,operation,begin_ns,end_ns";

class Parser {
 public:
  Parser(const std::string& text, const std::string& file, const strategies::Program& program)
      : rest_(text), file_(file), program_(program), fingerprint_(strategies::fingerprint(program)) {}

  std::vector<strategies::OperationRecord> parse() {
    const std::string_view first = next_line();
    if (!first.starts_with(kFingerprint)) {
      fail(first, "not a file of records", "trainyard execute --records-out writes one");
    }
    if (first.substr(kFingerprint.size()) != fingerprint_) {
      fail(first, fmt::format("these are records of another program: the scenario's has {}", fingerprint_),
           "compare a scenario with the records of that same scenario");
    }
    const std::string_view header = next_line();
    if (!header.starts_with(kHeader)) fail(header, "the columns are others", fmt::format("expected {},...", kHeader));
    std::vector<strategies::OperationRecord> records;
    while (!rest_.empty()) records.push_back(record(next_line()));
    return records;
  }

 private:
  std::string_view next_line() {
    const std::size_t end = rest_.find('\n');
    std::string_view line = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number_;
    return line;
  }

  [[noreturn]] void fail(std::string_view line, std::string_view problem, std::string_view advice) const {
    throw InputError(fmt::format("{}:{}: error: {}\n   {}\n  {}\n", file_, number_, problem,
                                 printable(shortened(line, 100)), advice));
  }

  strategies::OperationRecord record(std::string_view line) const {
    std::array<std::int64_t, 6> fields{};
    const char* at = line.data();
    const char* const end = line.data() + line.size();
    for (std::int64_t& field : fields) {
      const auto [stop, problem] = std::from_chars(at, end, field);
      if (problem != std::errc() || (stop != end && *stop != ',')) {
        fail(line, "a record is six whole numbers and a label", fmt::format("columns: {},label", kHeader));
      }
      at = stop == end ? end : stop + 1;
    }
    check(line, fields);
    return {strategies::Rank{static_cast<int>(fields[0])},
            {static_cast<std::int32_t>(fields[1]), static_cast<std::uint32_t>(fields[2]),
             strategies::OperationId{static_cast<std::uint32_t>(fields[3])}},
            fields[4],
            fields[5]};
  }

  void check(std::string_view line, const std::array<std::int64_t, 6>& fields) const {
    const auto inside = [](std::int64_t value, std::size_t size) {
      return value >= 0 && value < static_cast<std::int64_t>(size);
    };
    constexpr std::size_t kMostSteps = std::size_t{1} << 31;
    bool known = inside(fields[0], program_.role_of_rank.size()) && inside(fields[1], kMostSteps);
    if (known) {
      const strategies::Role& role = program_.roles[program_.role_of_rank[static_cast<std::size_t>(fields[0])]];
      known =
          inside(fields[2], role.schedule.size()) &&
          inside(fields[3], role.blocks[role.schedule[static_cast<std::size_t>(fields[2])].block].operations.size());
    }
    if (!known) {
      fail(line, "the scenario's program has no such operation",
           "the records come from another program or another version: run the scenario again");
    }
    if (fields[4] < 0 || fields[5] < fields[4]) fail(line, "the operation ends before it begins", "");
  }

  std::string_view rest_;
  const std::string& file_;
  const strategies::Program& program_;
  std::string fingerprint_;  ///< of `program`
  int number_ = 0;
};

}  // namespace

std::vector<strategies::OperationRecord> parse_records(const std::string& text, const std::string& file,
                                                       const strategies::Program& program) {
  return Parser(text, file, program).parse();
}

std::vector<strategies::OperationRecord> read_records(const std::filesystem::path& path,
                                                      const strategies::Program& program) {
  return parse_records(read_bounded_file(path, kMostBytes, "records"), path.string(), program);
}

}  // namespace scenarios
