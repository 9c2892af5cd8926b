// Discrete-event clock: integer nanoseconds; events at the same time run in the order they were scheduled, those at
// its end after all others. It knows nothing of what the events mean.
#pragma once

#include <cstdint>
#include <vector>

namespace sim {

using EventId = std::uint64_t;  ///< chosen by the caller, handed back when the event is due

class Engine {
 public:
  std::int64_t now() const { return now_; }

  /// Schedules `id`; `time_ns` must not lie before now().
  void at(std::int64_t time_ns, EventId id) { push({time_ns, scheduled_++, id}); }
  /// Schedules `id` after every event of that time that at() schedules, even from events that run at that time.
  void at_end(std::int64_t time_ns, EventId id) { push({time_ns, scheduled_++ | kLast, id}); }

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
  static constexpr std::uint64_t kLast = std::uint64_t{1} << 63;  ///< in a sequence: sorts behind all without it
  struct Event {
    std::int64_t time = 0;
    std::uint64_t sequence = 0;
    EventId id = 0;
  };
  static bool earlier(const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.sequence < b.sequence;
  }
  void push(const Event& event);
  EventId next();

  std::vector<Event> heap_;  ///< binary heap, the earliest event in front
  std::int64_t now_ = 0;
  std::uint64_t scheduled_ = 0;
  std::uint64_t processed_ = 0;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace sim
