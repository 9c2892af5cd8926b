// What is measured of the communicator: messages and collectives, by size and group size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "executor/communicator/communicator.h"
#include "hw_models/operation.h"

namespace executor {

struct TransferCase {
  std::optional<hw_models::Operation> collective;  ///< nullopt: a message from rank 0 to rank 1
  int ranks = 2;                                   ///< the group's: ranks 0 to ranks - 1
  std::int64_t bytes = 0;                          ///< of strategies::Collective

  std::string name() const;  ///< "all-reduce of 2", "send"
};

/// By kind, group size, bytes. Group sizes 2, 4, 8 ... and all. None with one rank.
std::vector<TransferCase> transfer_cases(bool quick, int ranks);

/// Runs them; every rank of the world runs the same cases in the same order.
class TransferRunner {
 public:
  explicit TransferRunner(Communicator& communicator) : communicator_(communicator) {}
  /// `repeats` times one after the other: each begins when this rank's part in the one before is over.
  void run(const TransferCase& transfer, int repeats);

 private:
  void run_collective(const TransferCase& transfer, int repeats);
  void run_messages(const TransferCase& transfer, int repeats);

  Communicator& communicator_;
  std::vector<std::byte> data_, received_;
};

}  // namespace executor
