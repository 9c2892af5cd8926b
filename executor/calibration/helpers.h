// The other processes of a measurement: one per core beside this one, they do what this one orders.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <vector>

#include "executor/communicator/communicator.h"

namespace executor {

/// Rank 0 is this process; ranks 1 to cores - 1 are forked, each bound to its core, and end with it.
class Helpers {
 public:
  /// `serve` runs in every helper until it returns; it doesn't when this process fails: its communicator throws.
  /// Throws std::runtime_error when a process cannot be started.
  Helpers(const std::vector<int>& cores, const std::function<void(Communicator&)>& serve);
  ~Helpers();
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  Communicator& communicator() { return *communicator_; }

 private:
  std::vector<pid_t> helpers_;
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace executor
