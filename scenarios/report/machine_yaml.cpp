#include "scenarios/report/machine_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "scenarios/load/quantity.h"
#include "scenarios/report/table.h"

namespace scenarios {
namespace {

using executor::Calibration;
using hw_models::MeasuredGrid;
using hw_models::MeasuredKernel;
using hw_models::MeasuredKernels;

constexpr std::size_t kWidth = 120;

/// "  key: [a, b,\n    c]": at most kWidth columns a line.
std::string list(const std::string& key, const std::vector<double>& values, int digits) {
  std::string text, line = key + ": [";
  const std::string indent(key.find_first_not_of(' ') + 2, ' ');
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string item = fmt::format("{:.{}g}{}", values[i], digits, i + 1 < values.size() ? ", " : "]");
    if (line.size() + item.size() > kWidth) {
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line = indent;
    }
    line += item;
  }
  return text + line + "\n";
}

std::vector<double> microseconds(const std::vector<double>& seconds) {
  std::vector<double> result;
  for (const double second : seconds) result.push_back(second * 1e6);
  return result;
}

std::string quality_line(const Calibration& calibration, const std::string& kind, int indent) {
  const auto found = std::ranges::find(calibration.quality, kind, &executor::Quality::kind);
  if (found == calibration.quality.end()) return "";
  if (calibration.rounds < 2) return fmt::format("{:{}}# one sample a point\n", "", indent);
  return fmt::format("{:{}}# {} samples a point; median 95 % confidence interval +-{:.1f} %, variation {:.1f} %\n", "",
                     indent, calibration.rounds, 100 * found->confidence, 100 * found->variation);
}

std::string kernel_text(const Calibration& calibration, const MeasuredKernel& kernel) {
  const hw_models::KernelKind& kind = *hw_models::find_kernel_kind(kernel.kind);
  std::string text = quality_line(calibration, kernel.kind, 4);
  text += fmt::format("    {}:\n", kernel.kind);
  for (std::size_t axis = 0; axis < kind.dimensions(); ++axis) {
    text += list(fmt::format("      {}", kind.axes[axis]), kernel.alone.axes[axis], 9);
  }
  text += list("      alone_us", microseconds(kernel.alone.seconds), 5);
  if (calibration.before.cores.size() > 1) {
    text += list("      together_us", microseconds(kernel.together.seconds), 5);
  }
  return text;
}

std::string transfers_text(const std::string& key, std::span<const hw_models::MeasuredTransfer> times) {
  std::vector<double> bytes, us;
  const std::string indent(key.find_first_not_of(' ') + 2, ' ');
  for (const hw_models::MeasuredTransfer& each : times) {
    bytes.push_back(static_cast<double>(each.bytes.value()));
    us.push_back(each.time.value() * 1e6);
  }
  return key + ":\n" + list(indent + "bytes", bytes, 12) + list(indent + "us", us, 5);
}

std::string node_transfers(const Calibration& calibration) {
  const hw_models::MeasuredTransfers& measured = calibration.transfers;
  std::string text;
  for (const hw_models::OperationName& each : hw_models::kOperationNames) {
    bool first = true;
    for (const hw_models::MeasuredCollective& collective : measured.collectives) {
      if (collective.operation != each.operation) continue;
      if (first) text += fmt::format("  {}:\n", each.name);
      first = false;
      text += quality_line(calibration, fmt::format("{} of {}", each.name, collective.ranks), 4);
      text += transfers_text(fmt::format("    {}", collective.ranks), collective.times);
    }
  }
  if (!measured.send.empty()) text += quality_line(calibration, "send", 2) + transfers_text("  send", measured.send);
  return text.empty() ? "" : "measured:\n" + text;
}

/// Figures that the model of a node needs beside its tables.
std::string node_text(const Calibration& calibration) {
  const auto& send = calibration.transfers.send;
  // Only transfers that were not measured are priced by them.
  const double rate = send.empty() ? 1e9
                                   : static_cast<double>((send.back().bytes - send.front().bytes).value()) /
                                         (send.back().time - send.front().time).value();
  const double latency = send.empty() ? 0 : send.front().time.value();
  return fmt::format(
      "gpus: {}\nscale_up: none\nnics: 0\nnuma_domains: 1\ngpus_per_pcie_switch: {}\npcie_bandwidth: {}\npcie_latency: "
      "{}\n",
      calibration.before.cores.size(), calibration.before.cores.size(),
      print_quantity(QuantityKind::kBandwidth, std::clamp(rate, 1e6, 1e14)),
      print_quantity(QuantityKind::kTime, latency / 2));
}

/// In single quotes, in which only they themselves are special.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

std::string device_text(const Calibration& calibration) {
  const auto cores = static_cast<double>(calibration.before.cores.size());
  const double flops = best_product_flops(calibration.kernels);
  const double rate = memory_bytes_per_s(calibration.kernels);
  std::string text = fmt::format(
      "gpu:\n  vendor: {}\n  architecture: {}\n  multiprocessors: 1\n  boost_clock: 1 GHz\n  matrix_peak: {{fp32: "
      "{:.1f} GFLOP/s}}\n"
      "  vector_peak: {:.1f} GFLOP/s\n  matrix_efficiency: 1\n  memory: {:.0f} MiB\n  memory_bandwidth: {:.2f} GB/s\n"
      "  memory_efficiency: 1\n",
      quoted(calibration.before.processor), calibration.instructions, flops / 1e9, flops / 2e9,
      static_cast<double>(calibration.before.memory_bytes) / cores / (1 << 20), rate / 1e9);
  text += fmt::format("  measured:\n    devices: {}\n    operation: {:.3f} us\n", calibration.kernels.devices,
                      calibration.kernels.operation.value() * 1e6);
  for (const MeasuredKernel& kernel : calibration.kernels.kinds) text += kernel_text(calibration, kernel);
  return text;
}

std::string state_text(const Calibration& calibration) {
  const double stolen = stolen_share(calibration.before, calibration.after);
  const auto pressure = [](double share) { return share < 0 ? "unknown" : fmt::format("{:.0f} %", 100 * share); };
  return fmt::format(
      "{} cores, load {:.1f} before and {:.1f} after, pressure on cores {} and {}, stolen {:.1f} %, kernels waited "
      "{:.1f} % of their time for a core",
      calibration.before.cores.size(), calibration.before.load_average, calibration.after.load_average,
      pressure(calibration.before.pressure), pressure(calibration.after.pressure), 100 * stolen,
      100 * calibration.waited);
}

/// One sample tells nothing about the next.
std::string variation_text(const Calibration& calibration) {
  return calibration.rounds < 2 ? "unknown" : fmt::format("{:.1f} %", 100 * executor::typical_variation(calibration));
}

double largest(const MeasuredKernel& kernel, double (*figure)(std::span<const double> sizes, double seconds)) {
  double best = 0;
  const auto& axes = kernel.alone.axes;
  for (std::size_t i = 0; i < kernel.alone.seconds.size(); ++i) {
    std::vector<double> sizes(axes.size());
    std::size_t rest = i;
    for (std::size_t axis = axes.size(); axis-- > 0; rest /= axes[axis].size()) {
      sizes[axis] = axes[axis][rest % axes[axis].size()];
    }
    best = std::max(best, figure(sizes, kernel.alone.seconds[i]));
  }
  return best;
}

}  // namespace

bool is_noisy(const Calibration& calibration) {
  return calibration.rounds < kFewestRounds || typical_variation(calibration) > kTooNoisy ||
         calibration.waited > kTooNoisy;
}

double best_product_flops(const MeasuredKernels& kernels) {
  double best = 0;
  for (const char* kind : {"matmul-nn", "matmul-nt", "matmul-tn"}) {
    const MeasuredKernel* kernel = kernels.find(kind);
    if (kernel == nullptr) continue;
    best = std::max(best, largest(*kernel, [](std::span<const double> sizes, double seconds) {
                      return 2 * sizes[0] * sizes[1] * sizes[2] / seconds;
                    }));
  }
  return best;
}

/// Scaling in place reads and writes every element of memory that no cache holds.
double memory_bytes_per_s(const MeasuredKernels& kernels) {
  const MeasuredKernel* scale = kernels.find("scale");
  if (scale == nullptr) return 0;
  return 8 * scale->alone.axes[0].back() / scale->alone.seconds.back();
}

std::string machine_yaml(const Calibration& calibration) {
  const bool noisy = is_noisy(calibration);
  std::string text = fmt::format(
      "# This machine as `trainyard calibrate` measured it: cluster: {{node: machine.yaml}}. One rank per core.\n"
      "confidence: {}\n",
      noisy ? "C" : "A");
  if (noisy) text += "note: \"the machine was too busy or too unsteady: measure again when it is quiet\"\n";
  text += fmt::format("source:\n  - \"measured: {} rounds in {:.0f} s; medians; typical variation {}\"\n",
                      calibration.rounds, calibration.seconds, variation_text(calibration));
  text += fmt::format("  - \"machine: {}\"\n", state_text(calibration));
  return text + node_text(calibration) + node_transfers(calibration) + device_text(calibration);
}

std::string calibration_text(const Calibration& calibration) {
  std::vector<std::vector<std::string>> rows{{"measured", "95 % +-", "variation", "worst"}};
  for (const executor::Quality& each : calibration.quality) {
    if (calibration.rounds < 2) break;  // one sample tells nothing about the next
    rows.push_back({each.kind, fmt::format("{:.1f} %", 100 * each.confidence),
                    fmt::format("{:.1f} %", 100 * each.variation),
                    fmt::format("{:.0f} %", 100 * each.worst_variation)});
  }
  return fmt::format(
      "{}\n{} rounds in {:.0f} s on {} ({} kernels)\n{}\nbest product {:.1f} GFLOP/s, memory {:.1f} GB/s, an operation "
      "{:.2f} us; typical variation {}\n",
      table(rows, 1), calibration.rounds, calibration.seconds, calibration.before.processor, calibration.instructions,
      state_text(calibration), best_product_flops(calibration.kernels) / 1e9,
      memory_bytes_per_s(calibration.kernels) / 1e9, calibration.kernels.operation.value() * 1e6,
      variation_text(calibration));
}

}  // namespace scenarios
