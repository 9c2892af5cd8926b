#include "scenarios/report/prediction_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/load/context_exchange_words.h"
#include "scenarios/report/cluster_text.h"
#include "scenarios/report/table.h"

namespace scenarios {
namespace {

/// The unit of a memory table: small models are told in MiB.
struct MemoryUnit {
  const char* name;
  double bytes;

  std::string operator()(std::int64_t amount) const {
    return fmt::format("{:.2f}", static_cast<double>(amount) / bytes);
  }
};

MemoryUnit unit_of(const MemoryPrediction& memory) {
  const bool small = std::ranges::all_of(memory.stages, [](const StageMemory& s) { return s.peak_bytes < 1 << 30; });
  return small ? MemoryUnit{"MiB", 1 << 20} : MemoryUnit{"GiB", 1 << 30};
}

std::string seconds_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.1f} us", seconds * 1e6);
}

/// 1,234,567
std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<std::size_t>(i), ",");
  }
  return digits;
}

std::string small_or_grouped(double value) { return value < 10 ? fmt::format("{:.2g}", value) : grouped(value); }

std::string tokens_text(double tokens) {
  if (tokens >= 1e12) return fmt::format("{:g}T", tokens / 1e12);
  if (tokens >= 1e9) return fmt::format("{:g}B", tokens / 1e9);
  return fmt::format("{:g}M", tokens / 1e6);
}

/// 405.9B, 124.4M, 891.6K
std::string count_text(double count) {
  if (count >= 1e9) return fmt::format("{:.1f}B", count / 1e9);
  if (count >= 1e6) return fmt::format("{:.1f}M", count / 1e6);
  return fmt::format("{:.1f}K", count / 1e3);
}

std::string plan_text(const Scenario& scenario) {
  const strategies::PlanSpec& plan = scenario.plan;
  const std::int64_t microbatches = scenario.training.global_batch / (plan.data * plan.micro_batch);
  std::string text = fmt::format("tensor {}", plan.tensor);
  if (plan.context > 1) {
    const strategies::Implementation& stack = scenario.software.implementation;
    text += fmt::format(" x context {} ({}{})", plan.context,
                        context_exchange_word(plan.context_exchange.value_or(stack.context_exchange)),
                        stack.balanced_context ? ", balanced" : "");
  }
  text += fmt::format(" x pipeline {} x data {}", plan.pipeline, plan.data);
  if (scenario.model.experts) {
    text += fmt::format(" (experts: tensor {} x expert {} x data {})", plan.tensor_of_experts(), plan.expert,
                        plan.expert_replicas());
  }
  if (plan.pipeline > 1) text += ", " + plan.schedule;
  if (plan.chunks > 1) text += fmt::format(" ({} chunks)", plan.chunks);
  text += fmt::format(", {} microbatches of {}", microbatches, plan.micro_batch);
  if (plan.sequence_parallel) text += ", sequence parallel";
  constexpr std::string_view kRecompute[] = {"", ", selective recompute", ", up-projection recompute",
                                             ", full recompute"};
  text += kRecompute[static_cast<std::size_t>(plan.recompute)];
  if (plan.zero > 0) text += fmt::format(", ZeRO {}", plan.zero);
  if (plan.shard > 0) text += fmt::format(" in sets of {}", plan.shard);
  if (plan.shards_weights() && !plan.reshards()) text += ", weights stay whole";
  if (scenario.placement.rule != "packed") text += ", placement " + scenario.placement.rule;
  return text;
}

std::string head_text(const Scenario& scenario, const Prediction& prediction) {
  const StepPrediction& step = prediction.step;
  std::vector<std::vector<std::string>> rows;
  rows.push_back(
      {"model", fmt::format("{} ({} parameters), sequence {}, global batch {}", scenario.model.name,
                            count_text(static_cast<double>(strategies::count_parameters(scenario.model).total)),
                            scenario.training.sequence_length, scenario.training.global_batch)});
  const hw_models::ClusterSpec& cluster = scenario.cluster;
  const auto gpus = [&](std::size_t pool) {
    const int of_pool = cluster.nodes_of_pool(pool) * cluster.node_of_pool(pool).gpus;
    return cluster.mixed() ? fmt::format(" ({} {})", of_pool, cluster.pools[pool].gpu.name)
                           : fmt::format(" ({} {})", prediction.gpus, scenario.gpu.name);
  };
  rows.push_back({"cluster", nodes_text(cluster, gpus) + (cluster.nodes > 1 ? ", " + cluster.fabric.name : "")});
  rows.push_back({"plan", plan_text(scenario)});
  rows.push_back({"step", seconds_text(step.time_s)});
  rows.push_back({"", fmt::format("{} to {}: {}", seconds_text(prediction.band.step_low_s),
                                  seconds_text(prediction.band.step_high_s), prediction.band.basis)});
  if (prediction.faults) {
    const FaultCost& faults = *prediction.faults;
    rows.push_back(
        {"faults", fmt::format("cost {} of it ({:+.1f} %): {} on a sound cluster", seconds_text(faults.cost_s),
                               100 * faults.cost_s / faults.sound_step_s, seconds_text(faults.sound_step_s))});
  }
  rows.push_back({"throughput", fmt::format("{} tokens/s, {} tokens/s per GPU", grouped(step.tokens_per_s),
                                            grouped(step.tokens_per_s_per_gpu))});
  rows.push_back(
      {"efficiency", fmt::format("MFU {:.1f} %, causal {:.1f} %, HFU {:.1f} %: {:.4g} model TFLOP/s per GPU of "
                                 "{:.4g} dense {} peak",
                                 100 * step.mfu, 100 * step.mfu_causal, 100 * step.hfu, step.model_tflops_per_gpu,
                                 step.peak_tflops, step.dtype)});
  rows.push_back({"FLOPs", step.flops_convention});
  return table(rows);
}

std::string breakdown_text(const Prediction& prediction) {
  constexpr double kBarWidth = 40;
  std::vector<std::vector<std::string>> rows;
  const double total = prediction.step.time_s * 1e9;
  for (int k = 0; k < sim::kTimeKinds; ++k) {
    const auto ns = static_cast<double>(prediction.step.breakdown_ns[static_cast<std::size_t>(k)]);
    if (ns == 0) continue;
    const double share = ns / total;
    rows.push_back({std::string("  ") + sim::name(static_cast<sim::TimeKind>(k)), fmt::format("{:5.1f} %", 100 * share),
                    fmt::format("{:>11}", seconds_text(ns * 1e-9)),
                    std::string(static_cast<std::size_t>(std::lround(share * kBarWidth)), '#')});
  }
  std::string text = "Where a GPU's step goes (mean over ranks)\n" + table(rows);
  const auto lost = static_cast<double>(prediction.step.contention_ns);
  if (lost / total < 0.0005) return text;
  return text +
         fmt::format("  of it {:.1f} %, {}, lost to contention: transfers sharing ports, kernels slowed by them\n",
                     100 * lost / total, seconds_text(lost * 1e-9));
}

/// Of a mixed cluster.
std::string gpu_kinds_text(const StepPrediction& step) {
  std::vector<std::vector<std::string>> rows;
  for (const GpuKindStep& kind : step.gpu_kinds) {
    rows.push_back({fmt::format("  {} {}", kind.ranks, kind.gpu), fmt::format("computes {:.1f} %", 100 * kind.busy),
                    fmt::format("waits for other ranks {:.1f} %", 100 * kind.waits)});
  }
  return rows.empty() ? "" : "By kind of GPU\n" + table(rows) + "\n";
}

std::string run_text(const Prediction& prediction) {
  const RunPrediction& run = prediction.run;
  if (run.tokens <= 0) return "Run: unknown length (set training.tokens for days, cost and energy)\n";
  std::string text =
      fmt::format("Run of {} tokens: {} steps, {}, {} GPU-hours\n", tokens_text(run.tokens),
                  grouped(static_cast<double>(run.steps)),
                  run.days < 1 ? fmt::format("{:.2g} hours", run.days * 24) : fmt::format("{:.1f} days", run.days),
                  small_or_grouped(run.gpu_hours));
  text += run.cost_usd > 0 ? fmt::format("  cost    ${} ({})\n", grouped(run.cost_usd), run.cost_basis)
                           : fmt::format("  cost    unknown ({})\n", run.cost_basis);
  text += fmt::format("  energy  {} kWh at {:.0f} W per GPU ({})\n", small_or_grouped(run.energy_kwh),
                      run.average_gpu_watts, run.energy_status);
  return text;
}

/// "h100-sxm-80gb has 79.11"
std::string capacities_text(const Scenario& scenario, const MemoryPrediction& memory) {
  const MemoryUnit unit = unit_of(memory);
  if (memory.gpu_kinds.empty()) return fmt::format("{} has {}", scenario.gpu.name, unit(memory.capacity_bytes));
  std::string text;
  for (const GpuKindMemory& kind : memory.gpu_kinds) {
    text += fmt::format("{}{} has {}", text.empty() ? "" : ", ", kind.gpu, unit(kind.capacity_bytes));
  }
  return text;
}

/// Of a mixed cluster: a line for every kind of GPU.
std::string margins_text(const MemoryPrediction& memory) {
  const MemoryUnit unit = unit_of(memory);
  std::string text;
  for (const GpuKindMemory& kind : memory.gpu_kinds) {
    text += kind.margin_bytes() >= 0 ? fmt::format("  fits {}: {} {} to spare on its heaviest stage, {}\n", kind.gpu,
                                                   unit(kind.margin_bytes()), unit.name, kind.stage)
                                     : fmt::format("  DOES NOT FIT {}: {} {} too much on its heaviest stage, {}\n",
                                                   kind.gpu, unit(-kind.margin_bytes()), unit.name, kind.stage);
  }
  return memory.fits ? text : text + "  all else is what it would take with enough memory\n";
}

}  // namespace

std::string memory_text(const Scenario& scenario, const MemoryPrediction& memory) {
  const MemoryUnit unit = unit_of(memory);
  std::vector<std::vector<std::string>> rows{{"  stage", "weights", "gradients", "optimizer", "activations", "other",
                                              "allocated", "reserved", "on device", "microbatches"}};
  for (const StageMemory& stage : memory.stages) {
    rows.push_back({fmt::format("  {}", stage.stage), unit(stage.weights), unit(stage.gradients), unit(stage.optimizer),
                    unit(stage.activations), unit(stage.other), unit(stage.allocated_bytes), unit(stage.peak_bytes),
                    unit(stage.peak_bytes + memory.overhead_bytes), std::to_string(stage.microbatches)});
  }
  constexpr std::size_t kMostRows = 17;
  if (rows.size() > kMostRows + 1) {  // keep both ends and the heaviest in sight
    const auto heaviest = std::ranges::max_element(memory.stages, {}, &StageMemory::peak_bytes);
    const auto index = static_cast<std::size_t>(heaviest - memory.stages.begin()) + 1;
    std::vector<std::vector<std::string>> shown{rows[0], rows[1], rows[2]};
    if (index > 2 && index + 2 < rows.size()) shown.push_back(rows[index]);
    shown.push_back({fmt::format("  ({} more stages: --json)", rows.size() - shown.size() - 2)});
    shown.push_back(rows[rows.size() - 2]);
    shown.push_back(rows.back());
    rows = std::move(shown);
  }
  std::string text =
      fmt::format("Memory per GPU at its peak, {} ({})\n", unit.name, capacities_text(scenario, memory)) +
      table(rows, 1);
  if (!memory.gpu_kinds.empty()) return text + margins_text(memory);
  text += memory.fits
              ? fmt::format("  fits: {} {} to spare on the heaviest stage\n", unit(memory.margin_bytes()), unit.name)
              : fmt::format(
                    "  DOES NOT FIT: {} {} too much on the heaviest stage; all else is what it would take "
                    "with enough memory\n",
                    unit(-memory.margin_bytes()), unit.name);
  return text;
}

std::string prediction_text(const Scenario& scenario, const Prediction& prediction) {
  const Bottleneck& b = prediction.bottleneck;
  return head_text(scenario, prediction) + "\n" + breakdown_text(prediction) + "\n" + gpu_kinds_text(prediction.step) +
         memory_text(scenario, prediction.memory) + "\n" + run_text(prediction) + "\n" +
         fmt::format("Problem: {} ({})\nBottleneck: {}; {}\n", b.problem == "both" ? "speed and capacity" : b.problem,
                     b.figures, b.name, b.advice);
}

}  // namespace scenarios
