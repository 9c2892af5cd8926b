// One class of ranks in virtual time, lane by lane: simulate_lanes' process. At every time at which something happens
// to it, it ends what is done, starts what is ready and settles the rates. Compute and tensor lane go run by run
// (lane_tables.h) as long as no other transfer is in flight; then kernels go on as a run, an exchange by itself.
// Operations that the host awaits one by one (serial_stretch.h) are booked at once, ahead of time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/breakdown.h"
#include "sim/lane_activities.h"
#include "sim/lane_tables.h"
#include "sim/prices.h"
#include "sim/rendezvous.h"
#include "sim/step_simulation.h"
#include "sim/time_index.h"
#include "strategies/program/program.h"

namespace sim {

inline constexpr std::int64_t kNotYet = -1;

/// A lane of a process.
struct LaneAddress {
  std::uint32_t process = 0;
  std::size_t lane = 0;
};

/// What a meeting operation tells the others.
struct Posted {
  std::int64_t ready = kNotYet;      ///< send: start; joint collective: ready
  std::int64_t end = kNotYet;        ///< send: arrival; joint collective: end of its own share
  std::int64_t duration_ns = 0;      ///< of a send, alone
  LoadId load = kNoLoad;             ///< of a send
  std::vector<LaneAddress> waiting;  ///< beyond the first
  LaneAddress first_waiting;
  bool awaited = false;

  void add(LaneAddress lane) {
    if (std::exchange(awaited, true)) {
      waiting.push_back(lane);
    } else {
      first_waiting = lane;
    }
  }
};

class LaneProcess;

/// What all processes share.
struct LaneWorld {
  LaneWorld(const strategies::Program& the_program, const Prices& the_prices, const StepOptions& the_options)
      : program(the_program),
        prices(the_prices),
        options(the_options),
        rendezvous(the_program, the_prices),
        sharing(the_prices.loads),
        board(rendezvous.slots() * static_cast<std::size_t>(the_options.steps)) {}

  Posted& at(std::int32_t step, Slot slot) { return board[static_cast<std::size_t>(step) * rendezvous.slots() + slot]; }

  const strategies::Program& program;
  const Prices& prices;
  StepOptions options;
  Rendezvous rendezvous;
  PortSharing sharing;
  std::vector<Posted> board;  ///< by step and slot
  std::vector<LaneProcess*> processes;
  TimeIndex next;  ///< by process: when something happens there
};

/// Where a lane stands in program order.
struct Position {
  std::int32_t step = 0;
  std::size_t call = 0;     ///< into FlatProcess::calls_of
  std::uint32_t place = 0;  ///< into FlatBlock::on_lane
};

enum class LaneState : std::uint8_t {
  kIdle,       ///< its next operation waits for others or for the host
  kScheduled,  ///< will start at `due`, when the host has issued it
  kWorking,    ///< its share ends at `due`
  kMeeting     ///< waits for others
};

struct LaneFront {
  Position front;
  const FlatCall* call = nullptr;            ///< of the operation at the front
  const FlatOperation* operation = nullptr;  ///< at the front; nullptr at the end
  const Moment* awaited = nullptr;           ///< it cannot start before this is known
  LaneState state = LaneState::kIdle;
  std::int64_t due = TimeIndex::kNever;
  Moment binding;  ///< when the operation became ready, and why
  std::int64_t turn = 0, alone = 0;
  std::size_t missing_ready = 0, missing_ends = 0;  ///< of those it meets
  bool for_twin = false;                            ///< the last to come was of the same role
};

class LaneProcess {
 public:
  LaneProcess(LaneWorld& world, std::uint32_t process);

  void begin() { handle(0); }
  void handle(std::int64_t now);
  bool finished() const;
  std::string place() const;
  ClassObservation observation();
  const std::vector<strategies::OperationRecord>& records() const { return records_; }

  /// Called by others: someone whom the operation at the front of `lane` meets has come, or has done its share.
  void came(std::size_t lane, std::int64_t now) { met(lane, lanes_[lane].missing_ready, now); }
  void ended(std::size_t lane, std::int64_t now) { met(lane, lanes_[lane].missing_ends, now); }

 private:
  const FlatCall& call(std::size_t lane) const { return *lanes_[lane].call; }
  std::uint32_t action(std::size_t lane) const { return flat_.calls_of[lane][lanes_[lane].front.call]; }
  const FlatBlock& block(std::size_t lane) const { return flat_.blocks[call(lane).block]; }
  std::uint32_t index(std::size_t lane) const { return block(lane).on_lane[lane][lanes_[lane].front.place]; }
  const FlatOperation& front(std::size_t lane) const { return *lanes_[lane].operation; }
  bool at_end(std::size_t lane) const { return lanes_[lane].operation == nullptr; }
  Slot slot(std::size_t lane) const {
    return world_.rendezvous.slot(process_, action(lane), call(lane).block, index(lane));
  }
  Moment& end_of(std::int32_t step, std::uint32_t end) {
    return ends_[static_cast<std::size_t>(step) * flat_.ends + end];
  }
  Moment& section(std::int32_t step, std::uint32_t index) {
    return sections_[static_cast<std::size_t>(step) * flat_.sections + index];
  }
  bool counts(std::int32_t step) const { return step + 1 == world_.options.steps; }

  // The host.
  void advance_host();
  bool host_waits_at(std::size_t lane) const;

  // Starting.
  bool start_ready(std::int64_t now);
  bool try_start(std::size_t lane, std::int64_t now);
  bool offer_prerequisites(std::size_t lane, Binding& binding);
  void start(std::size_t lane, std::int64_t now);
  void begin_share(std::size_t lane, LoadId load, std::int64_t work_ns, std::int64_t now);

  // Meeting others.
  void met(std::size_t lane, std::size_t& missing, std::int64_t now);
  void await(std::size_t lane);
  void begin_meeting(std::size_t lane, std::int64_t now);
  void post(std::size_t lane, bool end, std::int64_t now);

  // Ending.
  void fire(std::size_t lane, std::int64_t now);
  void end_share(std::size_t lane, std::int64_t now);
  void complete(std::size_t lane, std::int64_t now);
  void pass(std::size_t lane, const FlatOperation& what, Moment end);
  void leave(std::size_t lane);
  void look_at_front(std::size_t lane);
  Cause book(std::size_t lane, const FlatOperation& what, const Execution& execution, Cause binding);

  // Serial stretches.
  bool pass_stretch(std::size_t lane);
  Moment pass_alone(const FlatOperation& what, Moment ready);
  Moment skip_to_last_compute(const SerialStretch& stretch, const FlatCall& at, std::int32_t step, Moment first);

  // Runs.
  bool begin_run(std::size_t lane, std::int64_t now);
  std::uint32_t run_length(std::size_t lane) const;
  bool in_run(std::size_t lane) const { return run_.at < run_.leaves[lane]; }
  const FlatOperation& of_run(std::uint32_t offset) const { return run_.block->operations[run_.first + offset]; }
  std::int32_t rate_of(const FlatOperation& what) const {
    return what.kernel ? activities_.kernel_rate(what.bound) : kFullRate;
  }
  void set_run_length(std::uint32_t count);
  void walk_run(std::int64_t now);
  void expect_run();
  void cut_run(std::int64_t now);
  void hand_over(std::int64_t now);
  bool settle(std::int64_t now);

  LaneWorld& world_;
  std::uint32_t process_, role_;
  FlatProcess flat_;
  std::vector<std::size_t> used_;  ///< lanes
  std::array<LaneFront, strategies::kLanes> lanes_;
  std::array<Moment, strategies::kLanes> free_;
  LaneActivities activities_;
  bool starts_ = true;            ///< something may be ready to start
  std::vector<Moment> ends_;      ///< by step and named operation
  std::vector<Moment> sections_;  ///< by step and section: the host's time at its start
  struct Run {
    const FlatBlock* block = nullptr;
    std::uint32_t first = 0;  ///< its first operation
    std::uint32_t count = 0, at = 0;
    std::array<std::uint32_t, strategies::kLanes> leaves{};  ///< by lane: how far `at` is when it leaves the lane
    Moment issued;                                           ///< start of its section
    Progress progress;                                       ///< of the operation at `at`
    std::int64_t begin = 0;                                  ///< likewise
    Cause binding = kNoCause;
  } run_;
  Moment host_;
  std::int32_t host_step_ = 0;
  std::uint32_t host_action_ = 0, host_section_ = 0;
  bool host_waits_ = false;                  ///< at the host operation that ends its section
  std::int64_t issued_ = 0, completed_ = 0;  ///< operations, host operations excluded
  std::int64_t samples_ = 0;
  Ledger ledger_;
  ClassObservation seen_;
  std::vector<strategies::OperationRecord> records_;
};

}  // namespace sim
