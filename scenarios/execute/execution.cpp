#include "scenarios/execute/execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "executor/clock_offset.h"
#include "executor/corpus.h"
#include "executor/cpu/run_rank.h"
#include "executor/cpu/support.h"
#include "executor/report_lines.h"
#include "executor/report_mail.h"
#include "executor/supervisor/supervisor.h"
#include "scenarios/load/diagnostics.h"
#include "scenarios/load/read_file.h"
#include "strategies/build_program.h"
#include "strategies/program/fingerprint.h"

namespace scenarios {
namespace {

constexpr std::size_t kLargestCorpus = std::size_t{1} << 30;  // every rank holds it in memory
constexpr int kMostRanks = 64;                                // on one machine: every two ranks share a socket

[[noreturn]] void refuse(const Scenario& scenario, const std::string& problem, const std::string& advice) {
  throw InputError(fmt::format("{}: error: {}\n  {}\n", scenario.name, problem, advice));
}

void check_backend(const Scenario& scenario, const strategies::Program& program) {
  if (scenario.cluster.mixed()) {
    refuse(scenario, "a cluster of several kinds of nodes cannot be executed on one machine",
           "name one kind of node, e.g. cluster: {node: cpu-box}, or use simulate");
  }
  if (const auto refusal = executor::cpu::refuse_model(scenario.model, scenario.plan)) {
    refuse(scenario, refusal->problem, refusal->advice);
  }
  if (const auto refusal = executor::cpu::refuse_program(program)) {
    refuse(scenario, refusal->problem, refusal->advice);
  }
}

/// `rank`: this process is one of those that are there already.
void check_ranks(const Scenario& scenario, const strategies::Program& program, JoinedRank* rank) {
  if (rank != nullptr && rank->seat().ranks != program.ranks()) {
    refuse(scenario,
           fmt::format("the plan has {} {}, {} has started {} processes", program.ranks(),
                       program.ranks() == 1 ? "rank" : "ranks", rank->seat().launcher, rank->seat().ranks),
           fmt::format("start {}, or change the plan", program.ranks()));
  }
  if (rank == nullptr && program.ranks() > kMostRanks) {
    refuse(scenario, fmt::format("{} ranks are too many for one machine", program.ranks()),
           fmt::format(
               "use a cluster of at most {} devices, or start them on several machines by srun, mpirun or torchrun",
               kMostRanks));
  }
}

std::string corpus_bytes(const Scenario& scenario) {
  const auto longer = [&](const std::string& bytes, const std::string& name) {
    if (static_cast<std::int64_t>(bytes.size()) > scenario.training.sequence_length) return;
    refuse(scenario,
           fmt::format("{} has {} bytes, too few for a sequence of {} and the byte that follows", name, bytes.size(),
                       scenario.training.sequence_length),
           "use a longer file or a shorter sequence_length");
  };
  if (!scenario.execute.data) {
    std::string bytes(executor::default_corpus());
    longer(bytes, "the default corpus");
    return bytes;
  }
  std::string bytes = read_bounded_file(*scenario.execute.data, kLargestCorpus, "a corpus");
  longer(bytes, "'" + scenario.execute.data->string() + "'");
  return bytes;
}

double median_seconds(std::vector<executor::StepFigures> steps) {
  if (steps.size() > 1) steps.erase(steps.begin());  // memory is touched for the first time in it
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::ranges::nth_element(steps, middle, {}, &executor::StepFigures::seconds);
  return middle->seconds;
}

executor::RunResult supervise_ranks(const strategies::Program& program, const ExecutionChoice& choice) {
  executor::RunCollector collector(program, choice.on_step);
  const executor::RunEnd end = executor::supervise(
      {.ranks = program.ranks(),
       .command = choice.command,
       .heard = [&](int rank, std::int64_t /*step*/, std::string_view line) { read_report(rank, line, collector); }});
  if (end.exit_code != 0) throw RunFailure(end.reason);
  if (!collector.complete()) throw RunFailure("not every rank reported its end");
  return collector.take();
}

/// The moment at which the last rank is here, on this rank's clock.
std::int64_t start_of_run(executor::Communicator& communicator) {
  const std::int64_t offset = executor::clock_offset_ns(communicator, executor::cpu::now_ns);
  const double start = executor::all_reduce(
      communicator, executor::kWorld, static_cast<double>(executor::cpu::now_ns() - offset), executor::Reduction::kMax);
  return static_cast<std::int64_t>(start) + offset;
}

std::optional<executor::RunResult> train_rank(const Scenario& scenario, const strategies::Program& program,
                                              const executor::Corpus& corpus, const ExecutionChoice& choice) {
  executor::Communicator& communicator = choice.rank->communicator();
  const executor::Seat& seat = choice.rank->seat();
  const executor::cpu::RunChoice run{
      .records = choice.records, .start_ns = start_of_run(communicator), .local_rank = seat.local_rank};
  const auto train = [&](executor::ReportWriter::Write write) {
    executor::ReportWriter writer(std::move(write));
    executor::cpu::run_rank(program, {seat.rank}, scenario.execute.run, corpus, communicator, writer, run);
  };
  if (choice.rank->supervised()) {
    train([reporter = executor::Reporter(seat.report)](int step, std::string_view line) {
      reporter.step(step + 1, line);
    });
    return std::nullopt;
  }
  executor::RunCollector collector(program, choice.on_step);
  executor::ReportMail mail(communicator, [&](int rank, std::string_view line) { read_report(rank, line, collector); });
  train([&mail](int /*step*/, std::string_view line) { mail.post(line); });
  mail.close();
  if (!choice.rank->answers()) return std::nullopt;
  if (!collector.complete()) throw std::logic_error("not every rank reported its end");
  return collector.take();
}

}  // namespace

std::optional<Execution> execute(const Scenario& scenario, const ExecutionChoice& choice) {
  Execution execution;
  execution.program =
      strategies::build_program(scenario.model, scenario.training, scenario.plan, scenario.software.implementation);
  check_backend(scenario, execution.program);
  check_ranks(scenario, execution.program, choice.rank);
  const executor::Corpus corpus(corpus_bytes(scenario), scenario.training.sequence_length, scenario.execute.run.seed);
  if (choice.rank != nullptr) {
    choice.rank->agree();
    std::optional<executor::RunResult> result = train_rank(scenario, execution.program, corpus, choice);
    if (!result) return std::nullopt;
    execution.result = std::move(*result);
  } else {
    execution.result = supervise_ranks(execution.program, choice);
  }
  execution.fingerprint = strategies::fingerprint(execution.program);
  execution.oversubscribed = std::ranges::any_of(execution.result.ranks, &executor::RankSummary::crowded);
  execution.step_s = median_seconds(execution.result.steps);
  execution.tokens_per_s = static_cast<double>(execution.program.tokens_per_step) / execution.step_s;
  return execution;
}

}  // namespace scenarios
