// A good Program broken in one place, and what a check says about it.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "strategies/program/program.h"

namespace tests {

struct Mutation {
  void (*break_program)(strategies::Program& program);
  std::vector<std::string> defects;
};

using RunCheck = void (*)(const strategies::Program& program, std::vector<std::string>& defects);

/// The check finds nothing in the good Program and says exactly `defects` about each broken one.
inline void expect_defects(RunCheck check, strategies::Program (*make)(), std::span<const Mutation> mutations) {
  std::vector<std::string> none;
  check(make(), none);
  EXPECT_EQ(none, std::vector<std::string>{});
  for (std::size_t i = 0; i < mutations.size(); ++i) {
    strategies::Program program = make();
    mutations[i].break_program(program);
    std::vector<std::string> defects;
    check(program, defects);
    EXPECT_EQ(defects, mutations[i].defects) << "mutation " << i;
  }
}

}  // namespace tests
