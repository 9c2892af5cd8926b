// Programs and prices for tests of the step simulation.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/prices.h"
#include "strategies/pipeline/schedule.h"
#include "strategies/program/program.h"

namespace tests {

/// An operation on `lane` that takes `ns` by timed_prices: compute, or a collective over group 0 on other lanes.
strategies::Operation timed(strategies::Lane lane, std::int64_t ns,
                            strategies::Phase phase = strategies::Phase::kForward,
                            std::vector<strategies::OperationId> after = {});
strategies::Operation timed_collective(strategies::Lane lane, std::int64_t ns, std::uint32_t group,
                                       std::vector<strategies::OperationId> after = {});
strategies::Operation host_operation(strategies::HostReason reason, std::int64_t samples = 0,
                                     std::vector<strategies::OperationId> after = {});
/// On the lanes of the direction: activations to the next stage, gradients to the previous one.
strategies::Operation send_to(int virtual_stage, strategies::Payload payload,
                              std::vector<strategies::OperationId> after);
strategies::Operation receive_from(int virtual_stage, strategies::Payload payload);

/// Ranks `data` x `stages`; one role per stage; group 0 = the ranks of a stage, 1 = all, 2 = first and last stage.
strategies::Program empty_program(int data, int stages, int chunks);

/// Compute: its Measured kernel (any other: 0.4 ms). Collectives: one nanosecond per byte. Sends: `send_ns`. Host
/// operations: `host_ns`.
sim::Prices timed_prices(const strategies::Program& program, std::int64_t send_ns, std::int64_t issue_ns,
                         std::int64_t host_ns);
/// For these classes; slow ones compute longer, rounded up.
sim::Prices timed_prices(const strategies::Program& program, const sim::RankClasses& classes, std::int64_t send_ns,
                         std::int64_t issue_ns, std::int64_t host_ns);

/// Times of one microbatch on one chunk; a backward that is not split takes `backward_ns` and `weight_ns`.
struct ChunkTimes {
  std::int64_t forward_ns = 1, backward_ns = 1, weight_ns = 0;
};
/// The schedule as a Program: one operation forward, one backward (two where it is split), receives before, sends
/// after, nothing else. Every forward allocates `activation` bytes per chunk and microbatch; the backward frees them,
/// the weight gradients where they are apart.
strategies::Program scheduled_program(const strategies::Schedule& schedule, const strategies::ScheduleShape& shape,
                                      const ChunkTimes& times, std::int64_t activation = 1);

/// Gives transfers loads and kernels bounds, from few alternatives each and all by chance; per role and operation, so
/// that ranks of a role stay alike.
void add_random_loads(std::uint64_t seed, const strategies::Program& program, sim::Prices& prices);

/// A pipeline with random blocks, lanes, dependences across actions, host operations and joint collectives. Some hang.
strategies::Program random_program(std::uint64_t seed);

}  // namespace tests
