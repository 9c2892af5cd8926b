// Schedules against closed forms and against published bubble rates.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "sim/memory.h"
#include "sim/step_simulation.h"
#include "strategies/pipeline/schedule.h"
#include "tests/sim/step_programs.h"

namespace sim {
namespace {

using strategies::Schedule;
using strategies::ScheduleShape;

/// From the start to the end of the first step: pipelines from cold, without an update.
std::int64_t cold_step_ns(const strategies::Program& program, const Prices& prices) {
  const StepResult result = simulate_lanes(program, prices);
  std::int64_t end = 0;
  for (const ClassResult& role : result.of_class) end = std::max(end, role.step_end_ns);
  return end - result.step_ns;
}

/// Share of the step in which a stage does not compute.
double bubble_rate(const Schedule& schedule, const ScheduleShape& shape, const tests::ChunkTimes& chunk,
                   std::int64_t send_ns) {
  const strategies::Program program = tests::scheduled_program(schedule, shape, chunk);
  const std::int64_t cost = cold_step_ns(program, tests::timed_prices(program, send_ns, 0, 0));
  const std::int64_t busy = shape.microbatches * shape.chunks * (chunk.forward_ns + chunk.backward_ns);
  return static_cast<double>(cost - busy) / static_cast<double>(cost);
}

/// bubble = (p - 1) / (v m + p - 1) of the step: p - 1 times one chunk's forward and backward, of v m + p - 1.
void expect_ideal_bubble(const char* name, int chunks_from, int chunks_to) {
  const Schedule* schedule = strategies::find_schedule(name);
  ASSERT_NE(schedule, nullptr);
  const tests::ChunkTimes times{.forward_ns = 1000, .backward_ns = 2000};
  for (int p = 1; p <= 8; ++p) {
    for (int v = chunks_from; v <= chunks_to; ++v) {
      for (const int m : {1, 2, 3, 4, 8}) {
        const int microbatches = schedule->microbatches_multiple_of_stages ? m * p : m * p + m % 3;
        const double expected = (p - 1.0) / (v * microbatches + p - 1.0);
        EXPECT_NEAR(bubble_rate(*schedule, {p, v, microbatches}, times, 0), expected, 1e-12)
            << name << " p " << p << " v " << v << " m " << microbatches;
      }
    }
  }
}

TEST(ScheduleOracles, IdealBubbleGPipe) { expect_ideal_bubble("gpipe", 1, 1); }
TEST(ScheduleOracles, IdealBubbleOneFOneB) { expect_ideal_bubble("1f1b", 1, 1); }
TEST(ScheduleOracles, IdealBubbleInterleaved) { expect_ideal_bubble("interleaved", 2, 4); }

// Fewer microbatches than stages: the pipeline never fills, the formula still holds.
TEST(ScheduleOracles, IdealBubbleOfAPipelineThatNeverFills) {
  for (const char* name : {"gpipe", "1f1b"}) {
    for (int p = 2; p <= 8; ++p) {
      for (int m = 1; m < p; ++m) {
        const double rate = bubble_rate(*strategies::find_schedule(name), {p, 1, m}, {1000, 2000}, 0);
        EXPECT_NEAR(rate, (p - 1.0) / (m + p - 1.0), 1e-12) << name << " p " << p << " m " << m;
      }
    }
  }
}

/// Qi et al., Zero Bubble Pipeline Parallelism (arXiv:2401.10241): profiled milliseconds per microbatch and stage
/// (table 9) and the bubble rates computed from them (table 5): (cost - m (TF + TB + TW)) / cost, where cost is the
/// time from the first forward to the last backward of a step from cold. A send is latency. `chunks`: per stage,
/// interleaved. `kept`, `kept_for_weight`: what a forward keeps and what of it a weight gradient needs, per layer in
/// units of one stream or a fraction: 34 + 5 a s / h and 32 (table 2 there; a, h of table 3, s = 1024).
struct Published {
  const char* model;
  int stages, microbatches;
  double forward_ms, backward_ms, weight_ms, send_ms;
  double one_f_one_b, interleaved;
  int chunks;
  double zb_h1, zb_1p, zb_2p;
  int kept, kept_for_weight;
};

constexpr Published kPublished[] = {
    {"1.5B", 8, 24, 18.522, 18.086, 9.337, 0.601, 0.2431, 0.1055, 3, 0.1585, 0.1585, 0.0433, 262, 96},
    {"1.5B", 8, 32, 18.513, 18.086, 9.331, 0.626, 0.1985, 0.0818, 3, 0.1242, 0.1242, 0.0039, 262, 96},
    {"1.5B", 8, 64, 18.546, 18.097, 9.321, 0.762, 0.124, 0.0443, 3, 0.0674, 0.0674, 0.0026, 262, 96},
    {"6.2B", 8, 24, 29.718, 29.444, 19.927, 0.527, 0.2347, 0.0808, 4, 0.1323, 0.1323, 0.0029, 74, 32},
    {"6.2B", 8, 32, 29.802, 29.428, 19.53, 0.577, 0.1898, 0.0628, 4, 0.1045, 0.1045, 0.0022, 74, 32},
    {"6.2B", 8, 64, 29.935, 29.621, 19.388, 0.535, 0.1091, 0.032, 4, 0.0554, 0.0554, 0.001, 74, 32},
    {"14.6B", 16, 48, 11.347, 11.248, 8.132, 0.377, 0.2552, 0.1104, 3, 0.1397, 0.1397, 0.0066, 74, 32},
    {"14.6B", 16, 64, 11.307, 11.254, 8.101, 0.379, 0.2082, 0.0852, 3, 0.1088, 0.1088, 0.0054, 74, 32},
    {"14.6B", 16, 128, 11.325, 11.308, 8.109, 0.378, 0.1251, 0.0445, 3, 0.0576, 0.0576, 0.0028, 74, 32},
    {"28.3B", 32, 96, 10.419, 10.207, 7.715, 0.408, 0.2646, 0.1493, 2, 0.1421, 0.1421, 0.0038, 74, 32},
    {"28.3B", 32, 128, 10.408, 10.204, 7.703, 0.408, 0.2168, 0.1164, 2, 0.1106, 0.1106, 0.0029, 74, 32},
    {"28.3B", 32, 256, 10.402, 10.248, 7.698, 0.46, 0.1352, 0.0624, 2, 0.0594, 0.0594, 0.0018, 74, 32},
};

tests::ChunkTimes chunk_times(const Published& row, int chunks) {
  return {.forward_ns = std::llround(row.forward_ms * 1e6 / chunks),
          .backward_ns = std::llround((row.backward_ms + row.weight_ms) * 1e6 / chunks)};
}

TEST(ScheduleOracles, PublishedBubbleRates) {
  for (const Published& row : kPublished) {
    SCOPED_TRACE(std::string(row.model) + " m " + std::to_string(row.microbatches));
    const std::int64_t send_ns = std::llround(row.send_ms * 1e6);
    const double plain = bubble_rate(*strategies::find_schedule("1f1b"), {row.stages, 1, row.microbatches},
                                     chunk_times(row, 1), send_ns);
    EXPECT_NEAR(plain, row.one_f_one_b, 0.0005);
    const double interleaved =
        bubble_rate(*strategies::find_schedule("interleaved"), {row.stages, row.chunks, row.microbatches},
                    chunk_times(row, row.chunks), send_ns);
    EXPECT_NEAR(interleaved, row.interleaved, 0.005);
  }
}

/// Steps follow each other without a barrier, as with post-validation: the bubble of a steady step.
double steady_bubble_rate(const char* name, const Published& row) {
  const Schedule& schedule = *strategies::find_schedule(name);
  const auto ns = [](double ms) { return std::llround(ms * 1e6); };
  ScheduleShape shape{row.stages, 1, row.microbatches};
  shape.costs.assign(static_cast<std::size_t>(row.stages), {.forward = ns(row.forward_ms),
                                                            .backward = ns(row.backward_ms),
                                                            .weight = ns(row.weight_ms),
                                                            .send = ns(row.send_ms),
                                                            .kept = row.kept,
                                                            .kept_for_weight = row.kept_for_weight});
  const tests::ChunkTimes times{ns(row.forward_ms), ns(row.backward_ms), ns(row.weight_ms)};
  const strategies::Program program = tests::scheduled_program(schedule, shape, times);
  const std::int64_t cost = simulate_lanes(program, tests::timed_prices(program, ns(row.send_ms), 0, 0)).step_ns;
  const std::int64_t busy = row.microbatches * (times.forward_ns + times.backward_ns + times.weight_ns);
  return static_cast<double>(cost - busy) / static_cast<double>(cost);
}

TEST(ScheduleOracles, PublishedBubbleRatesOfZeroBubble) {
  for (const Published& row : kPublished) {
    SCOPED_TRACE(std::string(row.model) + " m " + std::to_string(row.microbatches));
    EXPECT_NEAR(steady_bubble_rate("zb-h1", row), row.zb_h1, 0.005);
    EXPECT_NEAR(steady_bubble_rate("zb-1p", row), row.zb_1p, 0.01);
    EXPECT_NEAR(steady_bubble_rate("zb-2p", row), row.zb_2p, 0.01);
  }
}

// (p - 1) (F + B - W) of a step: p - 1 units where the three are one (Qi et al., section 2.2).
TEST(ScheduleOracles, IdealBubbleZeroBubbleH1AndDualPipeV) {
  const tests::ChunkTimes equal{.forward_ns = 1000, .backward_ns = 1000, .weight_ns = 1000};
  const tests::ChunkTimes unequal{.forward_ns = 1000, .backward_ns = 1100, .weight_ns = 700};
  for (int p = 1; p <= 8; ++p) {
    for (const int m : {2 * p, 2 * p + 3, 5 * p}) {
      const auto span = [&](const char* name, int chunks, const tests::ChunkTimes& times) {
        const auto program = tests::scheduled_program(*strategies::find_schedule(name), {p, chunks, m}, times);
        return cold_step_ns(program, tests::timed_prices(program, 0, 0, 0));
      };
      EXPECT_EQ(span("zb-h1", 1, equal), 3000 * m + 1000 * (p - 1)) << p << " " << m;
      EXPECT_EQ(span("zb-h1", 1, unequal), 2800 * m + 1400 * (p - 1)) << p << " " << m;
      EXPECT_EQ(span("dualpipe-v", 2, equal), 2 * 3000 * m + 1000 * (p - 1)) << p << " " << m;
    }
  }
}

// With passes of equal length no stage of ZB-V and of ZB-2p waits once it has begun; ZB-V needs no more memory than
// 1F1B, chunks being half as large.
TEST(ScheduleOracles, NoBubbleWithPassesOfEqualLength) {
  const tests::ChunkTimes equal{.forward_ns = 1000, .backward_ns = 1000, .weight_ns = 1000};
  for (int p = 2; p <= 8; ++p) {
    for (const int m : {2 * p, 2 * p + 3, 5 * p}) {
      const auto program = tests::scheduled_program(*strategies::find_schedule("zb-v"), {p, 2, m}, equal, 7);
      EXPECT_EQ(simulate_lanes(program, tests::timed_prices(program, 0, 0, 0)).step_ns, 2 * 3000 * m) << p << " " << m;
      for (const RoleMemory& stage : replay_memory(program)) EXPECT_LE(stage.peak, hw_models::Bytes(7 * 2 * p));
      const auto planned = tests::scheduled_program(*strategies::find_schedule("zb-2p"), {p, 1, m}, equal, 7);
      EXPECT_EQ(simulate_lanes(planned, tests::timed_prices(planned, 0, 0, 0)).step_ns, 3000 * m) << p << " " << m;
    }
  }
}

TEST(ScheduleOracles, PlannedSchedulesKeepTheirMicrobatches) {
  const tests::ChunkTimes times{.forward_ns = 1000, .backward_ns = 1000, .weight_ns = 600};
  for (int p = 2; p <= 8; ++p) {
    for (const auto& [name, most] : {std::pair{"zb-h1", p}, std::pair{"zb-1p", p}, std::pair{"zb-2p", 2 * p}}) {
      const auto program = tests::scheduled_program(*strategies::find_schedule(name), {p, 1, 6 * p}, times, 7);
      for (const RoleMemory& stage : replay_memory(program)) {
        EXPECT_LE(stage.peak, hw_models::Bytes(7 * most)) << name << " p " << p;
      }
    }
  }
}

TEST(ScheduleOracles, OneFOneBHoldsAsManyMicrobatchesAsStagesFollow) {
  for (int p = 1; p <= 8; ++p) {
    for (const int m : {1, 3, 8, 20}) {
      const auto memory = replay_memory(tests::scheduled_program(*strategies::find_schedule("1f1b"), {p, 1, m}, {}, 7));
      for (int i = 0; i < p; ++i) {
        const RoleMemory& stage = memory[static_cast<std::size_t>(i)];
        EXPECT_EQ(stage.most_microbatches, std::min(m, p - i)) << "p " << p << " m " << m << " stage " << i;
        EXPECT_EQ(stage.peak, hw_models::Bytes(7 * std::min(m, p - i)));
      }
    }
  }
}

TEST(ScheduleOracles, GPipeHoldsEveryMicrobatch) {
  for (const RoleMemory& stage :
       replay_memory(tests::scheduled_program(*strategies::find_schedule("gpipe"), {4, 1, 9}, {}, 7))) {
    EXPECT_EQ(stage.peak, hw_models::Bytes(7 * 9));
  }
}

// Stage 0 holds (1 + (p - 1) / (p v)) L layers' activations; a chunk is L / (p v) layers: p v + p - 1 chunks.
// (Korthikanti et al., arXiv:2205.05198, section 4.2.3)
TEST(ScheduleOracles, InterleavedFirstStageHoldsItsShare) {
  for (int p = 1; p <= 8; ++p) {
    for (int v = 2; v <= 4; ++v) {
      const auto memory =
          replay_memory(tests::scheduled_program(*strategies::find_schedule("interleaved"), {p, v, 4 * p}, {}, 7));
      EXPECT_EQ(memory.front().peak, hw_models::Bytes(7 * (p * v + p - 1))) << "p " << p << " v " << v;
    }
  }
}

}  // namespace
}  // namespace sim
