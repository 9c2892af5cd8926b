#include "executor/run_collector.h"

#include <algorithm>
#include <utility>

namespace executor {
namespace {

/// Under ZeRO 3 replicas hold different pieces; every so manieth holds the same ones.
int pieces_of_weights(const strategies::Program& program) {
  int pieces = 1;
  for (const strategies::Role& role : program.roles) {
    for (const strategies::Buffer& buffer : role.buffers) {
      if (buffer.holds == strategies::Holds::kWeights) pieces = std::max(pieces, buffer.slice.pieces);
    }
  }
  return pieces;
}

}  // namespace

RunCollector::RunCollector(const strategies::Program& program, std::function<void(const StepFigures&)> on_step)
    : program_(program), on_step_(std::move(on_step)), records_(static_cast<std::size_t>(program.ranks())) {
  result_.ranks.resize(static_cast<std::size_t>(program.ranks()));
}

void RunCollector::step(int rank, const StepReport& report) {
  open_[report.step][rank] = report;
  while (!open_.empty() && static_cast<int>(open_.begin()->second.size()) == program_.ranks()) {
    close_step(open_.begin()->first, open_.begin()->second);
    open_.erase(open_.begin());
  }
}

void RunCollector::close_step(int step, const std::map<int, StepReport>& of_rank) {
  StepFigures figures{.step = step, .gradient_norm = of_rank.begin()->second.gradient_norm};
  std::int64_t end_ns = 0;
  for (const auto& [rank, report] : of_rank) {  // in the order of the ranks: the same sum in every run
    figures.loss += report.loss_sum;
    end_ns = std::max(end_ns, report.end_ns);
  }
  figures.loss /= static_cast<double>(program_.tokens_per_step);
  figures.seconds = static_cast<double>(end_ns - last_end_ns_) * 1e-9;
  last_end_ns_ = end_ns;
  result_.steps.push_back(figures);
  if (on_step_) on_step_(figures);
}

void RunCollector::record(int rank, const strategies::OperationRecord& record) {
  records_[static_cast<std::size_t>(rank)].push_back(record);
}

void RunCollector::finished(int rank, const RankSummary& summary) {
  result_.ranks[static_cast<std::size_t>(rank)] = summary;
  ++finished_;
}

RunResult RunCollector::take() {
  const strategies::Mesh& mesh = program_.views.front();
  const int data = mesh.find("dp"), context = mesh.find("cp");
  const int contexts = context < 0 ? 1 : mesh.dimensions[static_cast<std::size_t>(context)].extent;
  const int pieces = pieces_of_weights(program_);
  for (int rank = 0; rank < program_.ranks() && data >= 0; ++rank) {
    // Pieces are dealt to the context ranks of a replica before the next one.
    const int same_pieces = mesh.coordinate({rank}, data) % std::max(1, pieces / contexts);
    strategies::Rank twin = mesh.moved({rank}, data, same_pieces);
    if (pieces == 1 && context >= 0) twin = mesh.moved(twin, context, 0);
    const auto first = static_cast<std::size_t>(twin.value);
    const RankSummary &own = result_.ranks[static_cast<std::size_t>(rank)], &other = result_.ranks[first];
    result_.replicas_identical = result_.replicas_identical && own.weights_hash == other.weights_hash;
  }
  for (auto& of_rank : records_) {
    result_.records.insert(result_.records.end(), of_rank.begin(), of_rank.end());
    of_rank.clear();
  }
  return std::move(result_);
}

}  // namespace executor
