#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/repo/source_rules.h"

namespace repo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SourceRules, ProjectObeysThem) {
  const auto files = read_sources(TRAINYARD_SOURCE_DIR);
  ASSERT_GT(files.size(), 20u);
  EXPECT_THAT(breaches(files), IsEmpty());
}

struct Case {
  std::string path;
  std::vector<std::string> lines;
  std::string breach;  ///< empty: allowed
};

TEST(SourceRules, JudgeOneFile) {
  const std::vector<Case> cases = {
      {"sim/a.cpp", {"#include \"strategies/b.h\"", "#include \"hw_models/b.h\""}, ""},
      {"sim/a.cpp", {"", "#include \"executor/b.h\""}, "sim/a.cpp:2: sim must not include executor/b.h"},
      {"executor/a.cpp", {"#include \"sim/b.h\""}, "executor/a.cpp:1: executor must not include sim/b.h"},
      {"strategies/a.cpp", {"#include \"sim/b.h\""}, "strategies/a.cpp:1: strategies must not include sim/b.h"},
      {"hw_models/a.cpp",
       {"# include <strategies/b.h>"},
       "hw_models/a.cpp:1: hw_models must not include strategies/b.h"},
      {"sim/a.cpp", {"#include \"scenarios/b.h\""}, "sim/a.cpp:1: sim must not include scenarios/b.h"},
      {"scenarios/a.cpp", {"#include \"executor/b.h\"", "#include \"sim/b.h\""}, ""},
      {"sim/a.cpp", {"#include \"tests/b.h\""}, "sim/a.cpp:1: sim must not include tests/b.h"},
      {"sim/a.cpp", {"#include \"b.h\""}, "sim/a.cpp:1: write 'b.h' as a path from the project's root"},
      {"sim/a.cpp",
       {"#include \"../hw_models/b.h\""},
       "sim/a.cpp:1: write '../hw_models/b.h' as a path from the project's root"},
      {"hw_models/cluster.cpp", {"#include <boost/graph/adjacency_list.hpp>"}, ""},
      {"hw_models/network.cpp",
       {"#include <boost/graph/adjacency_list.hpp>"},
       "hw_models/network.cpp:1: only hw_models/cluster.cpp may include boost/graph/adjacency_list.hpp"},
      {"scenarios/load/yaml_document.cpp", {"#include <yaml-cpp/yaml.h>"}, ""},
      {"scenarios/catalog.cpp",
       {"#include <yaml-cpp/yaml.h>"},
       "scenarios/catalog.cpp:1: only scenarios/load/yaml_document.cpp may include yaml-cpp/yaml.h"},
      {"scenarios/a.cpp", {"#include <nlohmann/json.hpp>"}, ""},
      {"sim/a.cpp",
       {"#include <nlohmann/json.hpp>"},
       "sim/a.cpp:1: only scenarios/, tests/scenarios/ may include nlohmann/json.hpp"},
      {"sim/a.h", {"#pragma once", "#include <vector>"}, ""},
      {"sim/a.h", {"#include <vector>"}, "sim/a.h:1: a header needs '#pragma once'"},
      {"sim/a.h", {"#pragma once", "#include <iostream>"}, "sim/a.h:2: a header must not include <iostream>"},
      {"sim/a.h", {"#pragma once", "using namespace std;"}, "sim/a.h:2: a header must not hold 'using namespace'"},
      {"sim/a.cpp", {"#include <iostream>"}, ""},
      {"sim/a.cpp", {"std::ranges::sort(v);", "std::ranges::find(v, 1);"}, ""},
      {"sim/a.cpp",
       {"auto w = v | std::views::reverse;"},
       "sim/a.cpp:1: clang 14 cannot compile std::views::; use the iterator algorithm"},
      {"sim/a.cpp",
       {"std::ranges::unique(v);"},
       "sim/a.cpp:1: clang 14 cannot compile std::ranges::unique(; use the iterator algorithm"},
      {"sim/a.cpp", std::vector<std::string>(kMaxLines), ""},
      {"sim/a.cpp", std::vector<std::string>(kMaxLines + 1), "sim/a.cpp:601: the file has 601 lines; at most 600"},
      {"tests/sim/a_test.cpp", {}, "tests/sim/a_test.cpp:1: there is no sim/a.h or sim/a.cpp for this test"},
      {"tests/scenarios/cli/a_test.cpp", {}, ""},
      {"tests/sim/a.cpp", {}, ""},
  };
  for (const Case& c : cases) {
    const auto found = breaches({{c.path, c.lines}});
    if (c.breach.empty()) {
      EXPECT_THAT(found, IsEmpty()) << c.path;
    } else {
      EXPECT_THAT(found, ElementsAre(c.breach)) << c.path;
    }
  }
}

TEST(SourceRules, TestMirrorsHeaderOrSource) {
  EXPECT_THAT(breaches({{"sim/a.cpp", {}}, {"tests/sim/a_test.cpp", {}}}), IsEmpty());
  EXPECT_THAT(breaches({{"sim/a.h", {"#pragma once"}}, {"tests/sim/a_test.cpp", {}}}), IsEmpty());
}

}  // namespace
}  // namespace repo
