// Discrete-event clock: integer nanoseconds; events at the same time run in the order they were scheduled. It knows
// nothing of what the events mean.
#pragma once

#include <cstdint>
#include <vector>

namespace sim {

using EventId = std::uint64_t;  ///< chosen by the caller, handed back when the event is due

class Engine {
 public:
  std::int64_t now() const { return now_; }

  /// Schedules `id`; `time_ns` must not lie before now().
  void at(std::int64_t time_ns, EventId id);

  /// Hands every event to `handle(EventId)` in order of (time, sequence) until none is left. `handle` may schedule
  /// more.
  template <class Handler>
  void run(Handler&& handle) {
    while (!heap_.empty()) handle(next());
  }

  std::uint64_t events() const { return processed_; }
  /// Hash over (time, id) of every event processed so far: equal runs, equal fingerprints on every machine.
  std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  struct Event {
    std::int64_t time = 0;
    std::uint64_t sequence = 0;
    EventId id = 0;
  };
  EventId next();

  std::vector<Event> heap_;  ///< binary heap, the earliest event in front
  std::int64_t now_ = 0;
  std::uint64_t scheduled_ = 0;
  std::uint64_t processed_ = 0;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace sim
