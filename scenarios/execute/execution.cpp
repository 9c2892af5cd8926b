#include "scenarios/execute/execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "executor/corpus.h"
#include "executor/cpu/run_rank.h"
#include "executor/cpu/support.h"
#include "executor/report_lines.h"
#include "executor/supervisor/supervisor.h"
#include "scenarios/load/diagnostics.h"
#include "scenarios/load/read_file.h"
#include "strategies/build_program.h"
#include "strategies/program/fingerprint.h"

namespace scenarios {
namespace {

constexpr std::size_t kLargestCorpus = std::size_t{1} << 30;  // every rank holds it in memory
constexpr int kMostRanks = 64;                                // every two ranks share a socket
constexpr std::chrono::minutes kPatience{1};                  // for all ranks to meet
constexpr std::chrono::minutes kDeadline{5};                  // for a byte to move: more than any computation takes

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
  if (program.ranks() > kMostRanks) {
    refuse(scenario, fmt::format("{} ranks are too many for one machine", program.ranks()),
           fmt::format("use a cluster of at most {} devices", kMostRanks));
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

executor::RunResult run_ranks(const strategies::Program& program, const ExecutionChoice& choice) {
  executor::RunCollector collector(program, choice.on_step);
  const executor::RunEnd end = executor::supervise(
      {.ranks = program.ranks(),
       .command = choice.command,
       .heard = [&](int rank, std::int64_t /*step*/, std::string_view line) { read_report(rank, line, collector); }});
  if (end.exit_code != 0) throw RunFailure(end.reason);
  if (!collector.complete()) throw RunFailure("not every rank reported its end");
  return collector.take();
}

}  // namespace

Execution execute(const Scenario& scenario, const ExecutionChoice& choice) {
  Execution execution;
  execution.program =
      strategies::build_program(scenario.model, scenario.training, scenario.plan, scenario.software.implementation);
  check_backend(scenario, execution.program);
  const executor::Corpus corpus(corpus_bytes(scenario), scenario.training.sequence_length, scenario.execute.run.seed);
  execution.fingerprint = strategies::fingerprint(execution.program);
  const unsigned processors = std::thread::hardware_concurrency();
  execution.oversubscribed = processors > 0 && static_cast<unsigned>(execution.program.ranks()) > processors;
  execution.result = run_ranks(execution.program, choice);
  execution.step_s = median_seconds(execution.result.steps);
  execution.tokens_per_s = static_cast<double>(execution.program.tokens_per_step) / execution.step_s;
  return execution;
}

int execute_rank(const Scenario& scenario, const executor::Seat& seat, bool records) {
  const executor::Reporter reporter(seat.report);
  try {
    const strategies::Program program =
        strategies::build_program(scenario.model, scenario.training, scenario.plan, scenario.software.implementation);
    if (program.ranks() != seat.ranks) {
      throw std::runtime_error(fmt::format("the plan has {} ranks, {} were started", program.ranks(), seat.ranks));
    }
    const executor::Corpus corpus(corpus_bytes(scenario), scenario.training.sequence_length, scenario.execute.run.seed);
    const auto communicator = executor::join_run(seat, kPatience, kDeadline);
    // Reported times count from the moment the last rank is here.
    const double start = executor::all_reduce(*communicator, executor::kWorld,
                                              static_cast<double>(executor::cpu::now_ns()), executor::Reduction::kMax);
    executor::ReportWriter writer([&](int step, std::string_view line) { reporter.step(step + 1, line); });
    executor::cpu::run_rank(program, {seat.rank}, scenario.execute.run, corpus, *communicator, writer,
                            {.records = records, .start_ns = static_cast<std::int64_t>(start)});
    return 0;
  } catch (const std::exception& error) {
    reporter.failed(error);
    return 1;
  }
}

}  // namespace scenarios
