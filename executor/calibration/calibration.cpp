#include "executor/calibration/calibration.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>

#include "executor/calibration/helpers.h"
#include "executor/calibration/kernel_cases.h"
#include "executor/calibration/operation_cost.h"
#include "executor/calibration/transfer_cases.h"
#include "executor/cpu/kernels.h"

namespace executor {
namespace {

constexpr double kShortestSample = 200e-6;  // s: a hundred times what reading the clock costs
constexpr double kMostRepeats = 200;

double elapsed_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double own_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// One point of a kernel's grid.
struct KernelPoint {
  std::size_t kernel_case = 0;
  Sizes sizes;
  bool measured = true;
  int repeats = 1;  ///< per sample
  std::vector<double> alone, together;
};

struct TransferPoint {
  TransferCase transfer;
  int repeats = 2;
  std::vector<double> seconds;
};

/// What the first process tells the helpers; sent as it is.
struct Order {
  enum : std::int64_t { kStop, kKernel, kTransfer };
  std::int64_t what = kStop;
  std::int64_t point = 0;
  std::int64_t repeats = 0;
};

/// Everything that is measured, the same list in every process.
class Plan {
 public:
  Plan(bool quick, int ranks) : cases(kernel_cases(quick)) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      for (Sizes& sizes : grid_points(cases[i])) {
        const bool measured = cases[i].work(sizes) <= cases[i].most_work;
        kernels.push_back({i, std::move(sizes), measured, 0, {}, {}});
      }
    }
    for (const TransferCase& each : transfer_cases(quick, ranks)) transfers.push_back({each, 0, {}});
  }

  std::vector<KernelCase> cases;
  std::vector<KernelPoint> kernels;
  std::vector<TransferPoint> transfers;
};

void run_kernel(const Plan& plan, std::size_t point, std::int64_t repeats, CaseMemory& memory) {
  const KernelPoint& at = plan.kernels[point];
  for (std::int64_t i = 0; i < repeats; ++i) plan.cases[at.kernel_case].run(cpu::kernels(), at.sizes, memory);
}

void meet(Communicator& communicator) {
  communicator.wait(communicator.post({.kind = CollectiveKind::kAllReduce, .group = kWorld}));
}

void exchange(Communicator& communicator, Order& order) {
  if (communicator.ranks() == 1) return;
  communicator.wait(communicator.post({.kind = CollectiveKind::kBroadcast,
                                       .group = kWorld,
                                       .data = std::as_writable_bytes(std::span(&order, 1)),
                                       .element = Element::kInt64}));
}

/// A helper's life.
void serve(const Plan& plan, Communicator& communicator) {
  CaseMemory memory;
  TransferRunner transfers(communicator);
  for (;;) {
    Order order;
    exchange(communicator, order);
    if (order.what == Order::kStop) return;
    meet(communicator);
    const auto point = static_cast<std::size_t>(order.point);
    if (order.what == Order::kKernel) run_kernel(plan, point, order.repeats, memory);
    if (order.what == Order::kTransfer) transfers.run(plan.transfers[point].transfer, static_cast<int>(order.repeats));
  }
}

/// The first process: measures, and gives the orders.
class Measurement {
 public:
  Measurement(Plan& plan, Communicator& communicator, const CalibrationChoice& choice)
      : plan_(plan), communicator_(communicator), choice_(choice), transfers_(communicator) {}

  int run() {
    const double begin = elapsed_seconds();
    double longest = 0;
    int rounds = 0;
    while (rounds == 0 || elapsed_seconds() - begin + longest <= choice_.most_seconds) {
      const double round_begin = elapsed_seconds();
      round(begin, rounds == 0);
      longest = std::max(longest, elapsed_seconds() - round_begin);
      ++rounds;
    }
    Order stop;
    exchange(communicator_, stop);
    choice_.progress(1);
    return rounds;
  }

  double waited() const { return elapsed_ > 0 ? std::max(0.0, 1 - own_ / elapsed_) : 0; }

 private:
  void round(double begin, bool first) {
    const double steps = static_cast<double>(plan_.kernels.size() + plan_.transfers.size());
    double done = 0;
    const auto tell = [&] {
      done += 1;
      const double by_time = (elapsed_seconds() - begin) / choice_.most_seconds;
      choice_.progress(std::min({by_time, first ? done / steps : 1, 0.99}));
    };
    for (std::size_t i = 0; i < plan_.kernels.size(); ++i, tell()) measure_kernel(i);
    for (std::size_t i = 0; i < plan_.transfers.size(); ++i, tell()) measure_transfer(i);
  }

  double timed(std::size_t point, int repeats) {
    const double elapsed = elapsed_seconds(), own = own_seconds();
    run_kernel(plan_, point, repeats, memory_);
    const double used = own_seconds() - own;
    own_ += used;
    elapsed_ += elapsed_seconds() - elapsed;
    return used / repeats;
  }

  void measure_kernel(std::size_t index) {
    KernelPoint& point = plan_.kernels[index];
    if (!point.measured) return;
    if (point.alone.empty()) point.repeats = repeats_for(timed(index, 1));  // warms up, too
    point.alone.push_back(timed(index, point.repeats));
    if (communicator_.ranks() == 1) return;
    Order order{Order::kKernel, static_cast<std::int64_t>(index), point.repeats};
    exchange(communicator_, order);
    meet(communicator_);
    point.together.push_back(timed(index, point.repeats));
  }

  void measure_transfer(std::size_t index) {
    TransferPoint& point = plan_.transfers[index];
    // A process that has to wait for its core once makes a short transfer look long: the shortest sample counts.
    const double shortest = point.seconds.empty() ? transfer(index, 2) : *std::ranges::min_element(point.seconds);
    point.repeats = 2 * repeats_for(2 * shortest);
    point.seconds.push_back(transfer(index, point.repeats));
  }

  static int repeats_for(double seconds) {
    return static_cast<int>(std::clamp(std::ceil(kShortestSample / seconds), 1.0, kMostRepeats));
  }

  double transfer(std::size_t index, int repeats) {
    Order order{Order::kTransfer, static_cast<std::int64_t>(index), repeats};
    exchange(communicator_, order);
    meet(communicator_);
    const double begin = elapsed_seconds();
    transfers_.run(plan_.transfers[index].transfer, repeats);
    return (elapsed_seconds() - begin) / repeats;
  }

  Plan& plan_;
  Communicator& communicator_;
  const CalibrationChoice& choice_;
  CaseMemory memory_;
  TransferRunner transfers_;
  double own_ = 0, elapsed_ = 0;
};

/// Collects the spreads of one kind.
class QualityOf {
 public:
  explicit QualityOf(std::string kind) : kind_(std::move(kind)) {}

  double median(const std::vector<double>& samples) {
    const Spread spread = spread_of(samples);
    confidences_.push_back((spread.high - spread.low) / 2 / spread.median);
    variations_.push_back(spread.variation);
    return spread.median;
  }

  Quality quality() const {
    return {kind_, quantile(confidences_, 0.5), quantile(variations_, 0.5), quantile(variations_, 1)};
  }

 private:
  std::string kind_;
  std::vector<double> confidences_, variations_;
};

/// Points that were too much work: at the rate of the point whose largest size is one step smaller.
void fill(const KernelCase& kernel_case, std::span<const KernelPoint> points, std::vector<double>& seconds) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (seconds[i] > 0) continue;
    const Sizes& sizes = points[i].sizes;
    const auto largest = static_cast<std::size_t>(std::ranges::max_element(sizes) - sizes.begin());
    std::size_t stride = 1;
    for (std::size_t axis = largest + 1; axis < sizes.size(); ++axis) stride *= kernel_case.axes[axis].size();
    const std::size_t smaller = i - stride;  // filled: it comes before
    seconds[i] = seconds[smaller] * kernel_case.work(sizes) / kernel_case.work(points[smaller].sizes);
  }
}

void collect_kernels(const Plan& plan, Calibration& result) {
  std::size_t next = 0;
  for (const KernelCase& each : plan.cases) {
    hw_models::MeasuredGrid alone, together;
    for (const Sizes& axis : each.axes) alone.axes.emplace_back(axis.begin(), axis.end());
    together.axes = alone.axes;
    QualityOf quality{std::string(each.kind)};
    const auto points = std::span(plan.kernels).subspan(next, hw_models::points_of(alone.axes));
    next += points.size();
    for (const KernelPoint& point : points) {
      alone.seconds.push_back(point.measured ? quality.median(point.alone) / each.repeats : 0);
      const bool both = point.measured && !point.together.empty();
      together.seconds.push_back(both ? quality.median(point.together) / each.repeats : alone.seconds.back());
    }
    fill(each, points, alone.seconds);
    fill(each, points, together.seconds);
    result.kernels.kinds.push_back({std::string(each.kind), std::move(alone), std::move(together)});
    result.quality.push_back(quality.quality());
  }
}

void collect_transfers(const Plan& plan, Calibration& result) {
  for (std::size_t i = 0; i < plan.transfers.size();) {
    const TransferCase& first = plan.transfers[i].transfer;
    QualityOf quality(first.name());
    std::vector<hw_models::MeasuredTransfer> times;
    for (; i < plan.transfers.size() && plan.transfers[i].transfer.name() == first.name(); ++i) {
      times.push_back({hw_models::Bytes(plan.transfers[i].transfer.bytes),
                       hw_models::Seconds(quality.median(plan.transfers[i].seconds))});
    }
    if (first.collective) {
      result.transfers.collectives.push_back({*first.collective, first.ranks, std::move(times)});
    } else {
      result.transfers.send = std::move(times);
    }
    result.quality.push_back(quality.quality());
  }
}

}  // namespace

double typical_variation(const Calibration& calibration) {
  std::vector<double> variations;
  for (const Quality& each : calibration.quality) variations.push_back(each.variation);
  return quantile(variations, 0.5);
}

Calibration calibrate(const CalibrationChoice& choice) {
  Calibration result;
  result.before = machine_state();
  const double begin = elapsed_seconds();
  const std::vector<int>& cores = result.before.cores;
  result.kernels.devices = static_cast<int>(cores.size());
  Plan plan(choice.quick, static_cast<int>(cores.size()));
  {
    Helpers helpers(cores, [&plan](Communicator& communicator) { serve(plan, communicator); });
    const auto measurement = std::make_unique<Measurement>(plan, helpers.communicator(), choice);
    result.rounds = measurement->run();
    result.waited = measurement->waited();
    if (choice.small_program != nullptr) {
      result.kernels.operation = hw_models::Seconds(operation_seconds(*choice.small_program, choice.small_sequence));
    }
  }
  allow(cores);
  result.instructions = cpu::kernels().name;
  result.seconds = elapsed_seconds() - begin;
  result.after = machine_state();
  collect_kernels(plan, result);
  collect_transfers(plan, result);
  return result;
}

}  // namespace executor
