#include "executor/report_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <stdexcept>

namespace executor {
namespace {

constexpr std::string_view kStep = "step", kRecords = "records", kFinished = "finished";

/// Reads numbers separated by blanks.
class Numbers {
 public:
  explicit Numbers(std::string_view text) : text_(text) {}
  bool empty() const { return text_.empty(); }
  template <class T>
  T next() {
    T value{};
    const auto [end, problem] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (problem != std::errc()) throw std::logic_error("a rank's report holds '" + std::string(text_) + "'");
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    if (!text_.empty()) text_.remove_prefix(1);
    return value;
  }
  /// Doubles travel as their bits: the figures are the rank's own.
  double next_double() { return std::bit_cast<double>(next<std::uint64_t>()); }

 private:
  std::string_view text_;
};

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

StepReport step_of(Numbers numbers) {
  StepReport report;
  report.step = numbers.next<int>();
  report.loss_sum = numbers.next_double();
  report.gradient_norm = numbers.next_double();
  report.end_ns = numbers.next<std::int64_t>();
  return report;
}

strategies::OperationRecord record_of(int rank, Numbers& numbers) {
  strategies::OperationRecord record;
  record.rank = {rank};
  record.instance.step = numbers.next<std::int32_t>();
  record.instance.action = numbers.next<std::uint32_t>();
  record.instance.operation = {numbers.next<std::uint32_t>()};
  record.begin_ns = numbers.next<std::int64_t>();
  record.end_ns = numbers.next<std::int64_t>();
  return record;
}

RankSummary summary_of(Numbers numbers) {
  RankSummary summary;
  summary.weights_hash = numbers.next<std::uint64_t>();
  summary.peak_bytes = numbers.next<std::int64_t>();
  summary.workspace_bytes = numbers.next<std::int64_t>();
  summary.processor_ns = numbers.next<std::int64_t>();
  summary.crowded = numbers.next<int>() != 0;
  return summary;
}

}  // namespace

void ReportWriter::flush_records() {
  if (records_.empty()) return;
  write_(last_step_, records_);
  records_.clear();
}

void ReportWriter::step(const StepReport& report) {
  last_step_ = report.step;
  flush_records();
  write_(report.step, fmt::format("{} {} {} {} {}", kStep, report.step, bits(report.loss_sum),
                                  bits(report.gradient_norm), report.end_ns));
}

void ReportWriter::record(const strategies::OperationRecord& record) {
  if (records_.empty()) records_ = kRecords;
  records_ += fmt::format(" {} {} {} {} {}", record.instance.step, record.instance.action,
                          record.instance.operation.value, record.begin_ns, record.end_ns);
}

void ReportWriter::finished(const RankSummary& summary, std::span<const HeldParameter> /*parameters*/) {
  flush_records();
  write_(last_step_, fmt::format("{} {} {} {} {} {:d}", kFinished, summary.weights_hash, summary.peak_bytes,
                                 summary.workspace_bytes, summary.processor_ns, summary.crowded));
}

void read_report(int rank, std::string_view line, RunCollector& collector) {
  const std::string_view word = line.substr(0, line.find(' '));
  Numbers numbers(line.substr(std::min(word.size() + 1, line.size())));
  if (word == kStep) {
    collector.step(rank, step_of(numbers));
  } else if (word == kRecords) {
    while (!numbers.empty()) collector.record(rank, record_of(rank, numbers));
  } else if (word == kFinished) {
    collector.finished(rank, summary_of(numbers));
  } else {
    throw std::logic_error("a rank's report begins with '" + std::string(word) + "'");
  }
}

}  // namespace executor
