// `trainyard simulate --trace FILE`: a timeline that Perfetto can read.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/scenarios/cli/run_binary.h"

namespace scenarios {
namespace {

using nlohmann::json;
using Track = std::pair<int, int>;  ///< process (stage) and thread (lane)

/// Written in microseconds with three digits: whole nanoseconds.
std::int64_t nanoseconds(const json& microseconds) { return std::llround(microseconds.get<double>() * 1e3); }
Track track(const json& event) { return {event["pid"].get<int>(), event["tid"].get<int>()}; }

struct Slice {
  std::int64_t begin = 0, end = 0;
  std::string name;
  int microbatch = -1;
};

/// A pipeline of two stages with two chunks each and replicas: every kind of lane.
const char* const kScenario =
    "model: {name: small, layers: 8, hidden: 512, heads: 8, ffn: 2048, vocabulary: 32000}\n"
    "training: {sequence_length: 1024, global_batch: 32}\n"
    "cluster: {node: dgx-h100, nodes: 2}\n"
    "plan: {tensor: 4, pipeline: 2, data: 2, schedule: interleaved, chunks: 2, sequence_parallel: true, zero: 1}\n";

class Trace : public testing::Test {
 protected:
  Trace() {
    const RunResult run = run_binary({"simulate", "-", "--json", "--trace", folder_.path("t.json")}, kScenario);
    EXPECT_EQ(run.exit_code, 0) << run.error;
    answer_ = json::parse(run.output);
    events_ = json::parse(read_file(folder_.path("t.json")))["traceEvents"];
    for (const json& event : events_) {
      if (event["ph"] != "X") continue;
      const std::int64_t begin = nanoseconds(event["ts"]);
      slices_[track(event)].push_back(
          {begin, begin + nanoseconds(event["dur"]), event["name"], event["args"]["microbatch"]});
    }
    for (auto& [where, slices] : slices_) std::ranges::stable_sort(slices, {}, &Slice::begin);
  }

  ScratchFolder folder_;
  json answer_, events_;
  std::map<Track, std::vector<Slice>> slices_;
};

TEST_F(Trace, IsTheOnlyFileWritten) { EXPECT_EQ(folder_.names(), std::vector<std::string>{"t.json"}); }

TEST_F(Trace, EveryEventSaysWhatItIs) {
  ASSERT_GT(events_.size(), 100U);
  for (const json& event : events_) {
    ASSERT_TRUE(event.contains("ph") && event.contains("pid") && event.contains("name")) << event;
    const std::string kind = event["ph"];
    EXPECT_THAT(kind, testing::AnyOf("M", "X", "s", "f"));
    EXPECT_NE(event["name"], "");
    EXPECT_TRUE(kind == "M" || event["ts"].get<double>() >= 0) << event;
    EXPECT_TRUE(kind != "X" || event["dur"].get<double>() >= 0) << event;
  }
}

TEST_F(Trace, EveryTrackHasANameOfItsOwn) {
  std::map<int, std::string> processes;
  std::map<Track, std::string> threads;
  for (const json& event : events_) {
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
    if (event["name"] == "thread_name") threads[track(event)] = event["args"]["name"];
  }
  EXPECT_EQ(processes, (std::map<int, std::string>{{0, "stage 0"}, {1, "stage 1"}}));
  std::set<std::pair<int, std::string>> distinct;
  for (const auto& [where, name] : threads) distinct.emplace(where.first, name);
  EXPECT_EQ(distinct.size(), threads.size());
  for (const auto& [where, slices] : slices_) {
    EXPECT_TRUE(threads.contains(where)) << where.first << " " << where.second;
  }
  for (const char* lane : {"host", "compute", "tensor", "data"}) EXPECT_TRUE(distinct.contains({0, lane})) << lane;
}

TEST_F(Trace, SlicesOfATrackDoNotOverlap) {
  for (const auto& [where, slices] : slices_) {
    for (std::size_t i = 1; i < slices.size(); ++i) {
      EXPECT_GE(slices[i].begin, slices[i - 1].end)
          << "track " << where.first << "/" << where.second << ": " << slices[i - 1].name << ", " << slices[i].name;
    }
  }
}

TEST_F(Trace, ComputeLaneIsBusyForTheComputeOfTheStep) {
  // The mean over the two stages of what the compute lane does is compute + recompute + optimizer of the breakdown.
  constexpr int kComputeLane = 1;
  double busy_ns = 0;
  for (int stage = 0; stage < 2; ++stage) {
    for (const Slice& slice : slices_.at({stage, kComputeLane}))
      busy_ns += static_cast<double>(slice.end - slice.begin);
  }
  const json& parts = answer_["step"]["breakdown_s"];
  const double expected =
      parts["compute"].get<double>() + parts["recompute"].get<double>() + parts["optimizer"].get<double>();
  EXPECT_NEAR(busy_ns / 2 * 1e-9, expected, 1e-3 * expected);
}

TEST_F(Trace, EveryArrowStartsInASendAndEndsInItsReceive) {
  struct Arrow {
    std::vector<json> starts, ends;
  };
  std::map<int, Arrow> arrows;
  for (const json& event : events_) {
    if (event["ph"] == "s") arrows[event["id"]].starts.push_back(event);
    if (event["ph"] == "f") arrows[event["id"]].ends.push_back(event);
  }
  // 16 microbatches pass three borders of virtual stages, forwards and backwards.
  EXPECT_EQ(arrows.size(), 16U * 3 * 2);
  // A viewer has closed a slice at its end; a message that was there before it was asked for takes no time.
  const auto slices_at = [&](const json& event) {
    const std::int64_t at = nanoseconds(event["ts"]);
    std::vector<Slice> found;
    std::ranges::copy_if(slices_[track(event)], std::back_inserter(found), [&](const Slice& slice) {
      return slice.begin <= at && (at < slice.end || at == slice.begin);
    });
    return found;
  };
  for (const auto& [id, arrow] : arrows) {
    SCOPED_TRACE(id);
    ASSERT_EQ(arrow.starts.size(), 1U);
    ASSERT_EQ(arrow.ends.size(), 1U);
    EXPECT_LE(nanoseconds(arrow.starts[0]["ts"]), nanoseconds(arrow.ends[0]["ts"]));
    EXPECT_EQ(arrow.ends[0]["bp"], "e");
    EXPECT_NE(arrow.starts[0]["pid"], arrow.ends[0]["pid"]);
    const std::vector<Slice> sends = slices_at(arrow.starts[0]);
    ASSERT_EQ(sends.size(), 1U);
    ASSERT_THAT(sends[0].name, testing::StartsWith("send-"));
    const std::string receive = "receive-" + sends[0].name.substr(std::string("send-").size());
    ASSERT_TRUE(std::ranges::any_of(
        slices_at(arrow.ends[0]),
        [&](const Slice& slice) { return slice.name == receive && slice.microbatch == sends[0].microbatch; }))
        << "no " << receive << " of microbatch " << sends[0].microbatch << " at " << arrow.ends[0]["ts"];
  }
}

TEST(TraceFile, PlaceThatCannotBeWritten) {
  const ScratchFolder folder;
  const std::string path = folder.path("no-such-folder/t.json");
  const RunResult run = run_binary({"simulate", "-", "--trace", path}, kScenario);
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.output, "");
  EXPECT_EQ(run.error, path + ": error: cannot write: No such file or directory\n");
  EXPECT_EQ(folder.names(), std::vector<std::string>{});
}

TEST(TraceFile, PlaceThatIsAFolder) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.path("t.json"));
  const RunResult run = run_binary({"simulate", "-", "--trace", folder.path("t.json")}, kScenario);
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.error, folder.path("t.json") + ": error: cannot write: Is a directory\n");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"t.json"}) << "no half file stays behind";
}

TEST(TraceFile, IsMentionedUnlessQuiet) {
  const ScratchFolder folder;
  const std::string path = folder.path("t.json");
  EXPECT_EQ(run_binary({"simulate", "-", "--trace", path}, kScenario).error, "timeline written to " + path + "\n");
  EXPECT_EQ(run_binary({"simulate", "-q", "-", "--trace", path}, kScenario).error, "");
}

// Rank 5 of tensor 4 x data 2: stage 0 shows the others, its data peer, its tensor group and the rank itself.
TEST(TraceOfClasses, HasATrackForEveryClassAndArrowsBetweenPeers) {
  const ScratchFolder folder;
  run_binary(
      {"simulate", "-", "--quiet", "--trace", folder.path("t.json"), "--set", "faults.slow_gpu={rank: 5, factor: 0.5}"},
      kScenario);
  std::vector<std::string> processes;
  std::map<int, std::multiset<std::string>> ends;
  std::map<int, std::set<int>> sides;
  const json trace = json::parse(read_file(folder.path("t.json")));
  for (const json& event : trace["traceEvents"]) {
    if (event["name"] == "process_name") processes.push_back(event["args"]["name"]);
    if (event["ph"] != "s" && event["ph"] != "f") continue;
    ends[event["id"]].insert(event["ph"].get<std::string>());
    sides[event["id"]].insert(event["pid"].get<int>() % 4);
  }
  ASSERT_EQ(processes.size(), 8U);
  EXPECT_EQ(processes[0], "stage 0, rank 0 and 2 alike");
  EXPECT_EQ(processes[3], "stage 0, rank 5");
  EXPECT_EQ(processes[7], "stage 1, rank 13");
  EXPECT_EQ(ends.size(), 4U * 16 * 3 * 2);
  for (const auto& [id, both] : ends) {
    EXPECT_EQ(both, (std::multiset<std::string>{"f", "s"}));
    EXPECT_EQ(sides[id].size(), 1U);  // from a class to the same one of the other stage
  }
}

}  // namespace
}  // namespace scenarios
