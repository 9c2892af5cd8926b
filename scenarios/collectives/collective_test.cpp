#include "scenarios/collectives/collective_test.h"

#include <algorithm>
#include <string>

namespace scenarios {
namespace {

std::string letters(std::string_view text) {
  std::string kept;
  std::ranges::copy_if(text, std::back_inserter(kept), [](char c) { return c != '_' && c != '-'; });
  return kept;
}

}  // namespace

const CollectiveTest* find_collective_test(std::string_view name) {
  const std::string wanted = letters(name);
  const auto found =
      std::ranges::find_if(kCollectiveTests, [&](const CollectiveTest& test) { return letters(test.name) == wanted; });
  return found == kCollectiveTests.end() ? nullptr : &*found;
}

double bus_factor(const CollectiveTest& test, int ranks) {
  using hw_models::Operation;
  if (!test.operation || *test.operation == Operation::kBroadcast || *test.operation == Operation::kReduce) return 1;
  const double others = static_cast<double>(ranks - 1) / ranks;
  return *test.operation == Operation::kAllReduce ? 2 * others : others;
}

}  // namespace scenarios
