// Schedules against closed forms and against published bubble rates.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
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
/// interleaved.
struct Published {
  const char* model;
  int stages, microbatches;
  double forward_ms, backward_ms, weight_ms, send_ms;
  double one_f_one_b, interleaved;
  int chunks;
};

constexpr Published kPublished[] = {
    {"1.5B", 8, 24, 18.522, 18.086, 9.337, 0.601, 0.2431, 0.1055, 3},
    {"1.5B", 8, 32, 18.513, 18.086, 9.331, 0.626, 0.1985, 0.0818, 3},
    {"1.5B", 8, 64, 18.546, 18.097, 9.321, 0.762, 0.1240, 0.0443, 3},
    {"6.2B", 8, 24, 29.718, 29.444, 19.927, 0.527, 0.2347, 0.0808, 4},
    {"6.2B", 8, 32, 29.802, 29.428, 19.530, 0.577, 0.1898, 0.0628, 4},
    {"6.2B", 8, 64, 29.935, 29.621, 19.388, 0.535, 0.1091, 0.0320, 4},
    {"14.6B", 16, 48, 11.347, 11.248, 8.132, 0.377, 0.2552, 0.1104, 3},
    {"14.6B", 16, 64, 11.307, 11.254, 8.101, 0.379, 0.2082, 0.0852, 3},
    {"14.6B", 16, 128, 11.325, 11.308, 8.109, 0.378, 0.1251, 0.0445, 3},
    {"28.3B", 32, 96, 10.419, 10.207, 7.715, 0.408, 0.2646, 0.1493, 2},
    {"28.3B", 32, 128, 10.408, 10.204, 7.703, 0.408, 0.2168, 0.1164, 2},
    {"28.3B", 32, 256, 10.402, 10.248, 7.698, 0.460, 0.1352, 0.0624, 2},
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
