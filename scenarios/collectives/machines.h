// The machines of a sweep: rows of the same communicator share one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "scenarios/collectives/machine.h"
#include "scenarios/collectives/sweep_cluster.h"

namespace scenarios {

struct SweepMachine {
  std::unique_ptr<Machine> machine;  ///< null: cannot be predicted
  std::string reason;                ///< then why
  std::string node, fabric;
  bool usual_network = false;
};

class Machines {
 public:
  explicit Machines(const Catalog& catalog) : catalog_(catalog) {}
  const SweepMachine& of(const MeasuredCollective& row);

 private:
  const Catalog& catalog_;
  std::map<std::tuple<std::string, int, int, std::string, bool>, SweepMachine> machines_;
};

}  // namespace scenarios
