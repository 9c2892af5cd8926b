#include "scenarios/collectives/diagnosis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "scenarios/catalog.h"

namespace scenarios {
namespace {

hw_models::ClusterSpec two_nodes() {
  static const Catalog catalog;
  return {catalog.node("dgx-h100").value(), 2, catalog.fabric("infiniband-ndr").value()};
}

const CollectiveTest& all_reduce() { return *find_collective_test("all_reduce"); }

/// What a machine would print.
NcclTestsOutput output_of(const hw_models::ClusterSpec& cluster, const CollectiveOptions& options) {
  const Machine machine(cluster, 16, options);
  NcclTestsOutput output;
  for (std::int64_t bytes = 1024; bytes <= std::int64_t{1} << 33; bytes *= 4) {
    NcclTestsRow row;
    row.bytes = bytes;
    row.time_us = machine.estimate(all_reduce(), bytes).time.value() * 1e6;
    output.rows.push_back(row);
  }
  return output;
}

TEST(Diagnosis, AsExpected) {
  const Diagnosis diagnosis = diagnose(output_of(two_nodes(), {}), all_reduce(), two_nodes(), 16, {});
  EXPECT_TRUE(diagnosis.as_expected());
  EXPECT_EQ(diagnosis.fault, "");
  for (const DiagnosedRow& row : diagnosis.rows) {
    EXPECT_NEAR(row.percent, 100, 1e-9);
    EXPECT_EQ(row.cause, "");
  }
}

// A machine with a fault is told to have this fault, or one that looks the same.
TEST(Diagnosis, EveryFaultThatSlowsIsRecognised) {
  int recognised = 0;
  std::set<std::string_view> names;
  for (const CollectiveFault& fault : collective_faults()) {
    EXPECT_TRUE(names.insert(fault.name).second);
    hw_models::ClusterSpec cluster = two_nodes();
    CollectiveOptions options;
    if (!fault.apply(cluster, options)) continue;
    const NcclTestsOutput output = output_of(cluster, options);
    const Diagnosis diagnosis = diagnose(output, all_reduce(), two_nodes(), 16, {});
    if (std::abs(std::log(diagnosis.large_percent / 100)) < 0.2) continue;  // too small to tell
    ASSERT_NE(diagnosis.fault, "") << fault.name;
    for (const CollectiveFault& told : collective_faults()) {
      if (told.name != diagnosis.fault) continue;
      hw_models::ClusterSpec other = two_nodes();
      CollectiveOptions changed;
      told.apply(other, changed);
      const NcclTestsOutput same = output_of(other, changed);
      EXPECT_NEAR(same.rows.back().time_us / output.rows.back().time_us, 1, 0.1) << fault.name << " " << told.name;
    }
    ++recognised;
  }
  EXPECT_GE(recognised, 4);
}

TEST(Diagnosis, SlowSmallMessagesAreLatency) {
  NcclTestsOutput output = output_of(two_nodes(), {});
  output.rows.front().time_us *= 2;
  const Diagnosis diagnosis = diagnose(output, all_reduce(), two_nodes(), 16, {});
  EXPECT_NEAR(diagnosis.rows.front().percent, 50, 1e-9);
  EXPECT_NE(diagnosis.rows.front().cause.find("latency"), std::string::npos);
  EXPECT_TRUE(diagnosis.as_expected());
}

}  // namespace
}  // namespace scenarios
