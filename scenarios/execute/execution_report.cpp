#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/execute/execution.h"
#include "strategies/program/program.h"

namespace scenarios {
namespace {

const strategies::Operation& operation_of(const strategies::Program& program,
                                          const strategies::OperationRecord& record) {
  const strategies::Role& role = program.role_of(record.rank);
  const strategies::Block& block = role.blocks[role.schedule[record.instance.action].block];
  return block.operations[record.instance.operation.value];
}

/// "-" where the Program does not compute the norm.
std::string norm_text(double norm) { return norm < 0 ? "-" : fmt::format("{:.4g}", norm); }

}  // namespace

std::string execution_json(const Scenario& scenario, const Execution& execution) {
  nlohmann::ordered_json json;
  json["scenario"] = scenario.name;
  json["fingerprint"] = execution.fingerprint;
  json["backend"] = "cpu";
  json["ranks"] = execution.program.ranks();
  json["oversubscribed"] = execution.oversubscribed;
  json["steps"] = execution.result.steps.size();
  json["tokens_per_s"] = execution.tokens_per_s;
  json["step_s"] = execution.step_s;
  json["replicas_identical"] = execution.result.replicas_identical;
  auto& loss = json["loss"] = nlohmann::ordered_json::array();
  auto& norm = json["grad_norm"] = nlohmann::ordered_json::array();
  auto& seconds = json["step_times_s"] = nlohmann::ordered_json::array();
  for (const executor::StepFigures& step : execution.result.steps) {
    loss.push_back(step.loss);
    norm.push_back(step.gradient_norm < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(step.gradient_norm));
    seconds.push_back(step.seconds);
  }
  std::int64_t peak = 0;
  for (const executor::RankSummary& rank : execution.result.ranks) peak = std::max(peak, rank.peak_bytes);
  json["peak_bytes"] = peak;
  return json.dump(2) + "\n";
}

std::string execution_text(const Scenario& scenario, const Execution& execution) {
  const auto& steps = execution.result.steps;
  std::string text = fmt::format("program     {}\n", execution.fingerprint);
  text += fmt::format("ranks       {} processes on the cpu backend{}\n", execution.program.ranks(),
                      execution.oversubscribed ? ", more than processors: times mean nothing" : "");
  text += fmt::format("loss        {:.4f} at step 1, {:.4f} at step {}\n", steps.front().loss, steps.back().loss,
                      steps.size());
  text += fmt::format("grad norm   {} at step 1, {} at step {}\n", norm_text(steps.front().gradient_norm),
                      norm_text(steps.back().gradient_norm), steps.size());
  text +=
      fmt::format("step        {:.4g} ms (median), {:.0f} tokens/s\n", execution.step_s * 1e3, execution.tokens_per_s);
  if (scenario.plan.replicas() > 1) {
    text += fmt::format("replicas    {}\n", execution.result.replicas_identical
                                                ? "hold the same weights to the bit"
                                                : "DIFFER: their weights are not the same to the bit");
  }
  return text;
}

std::string losses_csv(const Execution& execution) {
  std::string text = "step,loss,grad_norm,step_s\n";
  for (const executor::StepFigures& step : execution.result.steps) {
    const std::string norm = step.gradient_norm < 0 ? "" : fmt::format("{:.9g}", step.gradient_norm);
    text += fmt::format("{},{:.9g},{},{:.6g}\n", step.step + 1, step.loss, norm, step.seconds);
  }
  return text;
}

std::string records_csv(const Execution& execution) {
  std::string text = fmt::format("fingerprint,{}\n", execution.fingerprint);
  text += "rank,step,action,operation,begin_ns,end_ns,label\n";
  for (const strategies::OperationRecord& record : execution.result.records) {
    text += fmt::format("{},{},{},{},{},{},{}\n", record.rank.value, record.instance.step, record.instance.action,
                        record.instance.operation.value, record.begin_ns, record.end_ns,
                        operation_of(execution.program, record).origin.label);
  }
  return text;
}

std::string progress_line(const Scenario& scenario, const executor::StepFigures& figures) {
  const double tokens =
      static_cast<double>(scenario.training.global_batch * scenario.training.sequence_length) / figures.seconds;
  return fmt::format("step {}/{}  loss {:.4f}  grad norm {}  {:.0f} tokens/s  {:.3g} ms", figures.step + 1,
                     scenario.execute.run.steps, figures.loss, norm_text(figures.gradient_norm), tokens,
                     figures.seconds * 1e3);
}

}  // namespace scenarios
