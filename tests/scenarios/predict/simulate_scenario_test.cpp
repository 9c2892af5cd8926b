// Figures that are legal one by one and absurd together end as bad input, before the clock overflows. Ranks that behave
// alike are simulated once, with the same result.
#include "scenarios/predict/simulate_scenario.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "scenarios/load/diagnostics.h"
#include "scenarios/predict/prediction.h"
#include "strategies/build_program.h"
#include "strategies/pipeline/schedule.h"

namespace scenarios {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// Two accelerators of 1 MFLOP/s with 1 Mb/s between them.
Scenario slow_scenario(int sequence, int microbatches, const std::string& input = "{}") {
  const std::string text = fmt::format(
      "model: {{layers: 4, hidden: 4096, heads: 32, ffn: 11008, vocabulary: 32000}}\n"
      "training: {{sequence_length: {}, global_batch: {}, input: {}}}\n"
      "cluster: {{node: {{gpu: slow, gpus: 2, nics: 0, scale_up: none, pcie_bandwidth: 1 Mb/s}}, nodes: 1,\n"
      "          gpu: {{base: a100-sxm-80gb, multiprocessors: 1, matrix_peak: {{bf16: 1e6 FLOP/s}},\n"
      "                vector_peak: 1e6 FLOP/s, memory_bandwidth: 1 MB/s}}}}\n"
      "plan: {{pipeline: 2}}\n",
      sequence, microbatches, input);
  return load_scenario_text(text, "slow.yaml", ".", Catalog());
}

std::string refusal(const Scenario& scenario) {
  try {
    predict(scenario);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

/// Two replicas whose stack may reduce gradients while it computes.
std::int64_t overlapping_step_ns(const std::string& software) {
  const std::string text =
      "model: {base: tiny-cpu, layers: 2}\n"
      "training: {sequence_length: 64, global_batch: 4, precision: fp32}\n"
      "cluster: {node: cpu-box, nodes: 1}\n"
      "plan: {data: 2}\nsoftware: " +
      software;
  return predict(load_scenario_text(text, "overlap.yaml", ".", Catalog())).result.step_ns;
}

// What a stack is called decides nothing.
TEST(SharedEngine, IsAFlagOfTheStack) {
  const std::string base = "{base: trainyard-cpu, implementation: {overlap_gradient_reduce: true}";
  const std::int64_t shared = overlapping_step_ns(base + "}");
  EXPECT_EQ(overlapping_step_ns(base + ", name: renamed}"), shared);
  EXPECT_EQ(overlapping_step_ns(base + ", prices: {single_engine: true}}"), shared);
  EXPECT_LT(overlapping_step_ns(base + ", prices: {single_engine: false}}"), shared);
}

TEST(CheckScale, SlowButCountable) {
  const Prediction prediction = predict(slow_scenario(64, 2));
  EXPECT_GT(prediction.step.time_s, 1e5);
  EXPECT_LE(prediction.step.mfu, 1);
}

TEST(CheckScale, OperationTooLong) {
  const std::string message = refusal(slow_scenario(16'777'216, 2));
  EXPECT_THAT(message, StartsWith("slow.yaml: error: an operation takes "));
  EXPECT_THAT(message, HasSubstr("\n  check micro_batch, global_batch, sequence_length"));
}

TEST(CheckScale, StepTooLong) {
  const std::string message = refusal(slow_scenario(64, 100'000));
  EXPECT_THAT(message, StartsWith("slow.yaml: error: one step could take "));
  EXPECT_THAT(message, HasSubstr(" s, longer than can be simulated\n  check micro_batch"));
}

TEST(CheckScale, InputTooSlow) {
  EXPECT_THAT(refusal(slow_scenario(1, 10'000, "{samples_per_s: 0.000001}")),
              HasSubstr("longer than can be simulated"));
}

/// tensor x pipeline x data ranks on DGX H100 nodes.
Scenario plan_of(int tensor, int pipeline, int data, std::string_view schedule, int chunks,
                 const std::string& faults = "{}") {
  const std::string text = fmt::format(
      "model: {{layers: 16, hidden: 1024, heads: 16, ffn: 4096, vocabulary: 32000}}\n"
      "training: {{sequence_length: 1024, global_batch: {}}}\n"
      "cluster: {{node: dgx-h100, gpus: {}}}\n"
      "plan: {{tensor: {}, pipeline: {}, data: {}, schedule: {}, chunks: {}, zero: 1}}\n"
      "faults: {}\n",
      8 * data, tensor * pipeline * data, tensor, pipeline, data, schedule, chunks, faults);
  return load_scenario_text(text, "plan.yaml", ".", Catalog());
}

void expect_equal(const Prediction& folded, const Prediction& unfolded) {
  EXPECT_EQ(unfolded.result.classes.size(), static_cast<std::size_t>(unfolded.gpus));
  EXPECT_LT(folded.result.classes.size(), unfolded.result.classes.size());
  EXPECT_EQ(folded.result.step_ns, unfolded.result.step_ns);
  EXPECT_EQ(folded.result.mean, unfolded.result.mean);
  EXPECT_EQ(folded.memory.device_bytes, unfolded.memory.device_bytes);
  for (std::size_t rank = 0; rank < unfolded.result.classes.of_rank.size(); ++rank) {
    const auto breakdown = [rank](const sim::StepResult& result) {
      return result.of_class[result.classes.of_rank[rank]].breakdown;
    };
    ASSERT_EQ(breakdown(folded.result), breakdown(unfolded.result)) << "rank " << rank;
  }
}

constexpr int kPlans[][3] = {{8, 1, 1}, {2, 4, 1}, {4, 2, 2}, {8, 2, 4}, {4, 4, 8}, {8, 4, 8}};  // 8 to 256 GPUs

TEST(Unfolded, EqualsTheFoldedStepToTheNanosecond) {
  for (const auto& [tensor, pipeline, data] : kPlans) {
    for (const strategies::Schedule& schedule : strategies::schedules()) {
      if (schedule.minimum_chunks > 1 && pipeline == 1) continue;
      SCOPED_TRACE(fmt::format("{} x {} x {} {}", tensor, pipeline, data, schedule.name));
      const Scenario scenario = plan_of(tensor, pipeline, data, schedule.name, schedule.minimum_chunks);
      const Prediction folded = predict(scenario), unfolded = predict(scenario, {.unfolded = true});
      expect_equal(folded, unfolded);
      EXPECT_EQ(folded.result.mean[static_cast<std::size_t>(sim::TimeKind::kStraggler)], 0);
    }
  }
}

TEST(Unfolded, EqualsTheFoldedStepWithPostValidation) {
  for (const char* schedule : {"zb-h1", "zb-2p"}) {
    Scenario scenario = plan_of(2, 4, 4, schedule, 1);
    scenario.software.implementation.post_validation = true;
    const Prediction folded = predict(scenario);
    expect_equal(folded, predict(scenario, {.unfolded = true}));
  }
}

// 16,384 ranks that each call 256 forwards and backwards of four layers.
TEST(Unfolded, TooManyOperationsAreRefused) {
  Scenario scenario = plan_of(8, 4, 512, "1f1b", 1);
  scenario.training.global_batch *= 32;
  try {
    predict(scenario, {.unfolded = true});
    FAIL() << "was accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("plan.yaml: error: 16384 ranks one by one are "));
    EXPECT_THAT(error.what(), HasSubstr("leave out --unfolded"));
  }
}

TEST(Unfolded, ASlowGpuUnfoldsWhatItTouches) {
  for (const auto& [tensor, pipeline, data] : kPlans) {
    SCOPED_TRACE(fmt::format("{} x {} x {}", tensor, pipeline, data));
    const Scenario scenario = plan_of(tensor, pipeline, data, "1f1b", 1, "{slow_gpu: {rank: 5, factor: 0.1}}");
    const Prediction folded = predict(scenario), unfolded = predict(scenario, {.unfolded = true});
    // Per stage: the slow rank or its peer, its tensor group, its data group, the others.
    EXPECT_LE(folded.result.classes.size(), 4U * static_cast<std::size_t>(pipeline));
    EXPECT_GT(folded.result.step_ns, predict(plan_of(tensor, pipeline, data, "1f1b", 1)).result.step_ns);
    EXPECT_GT(folded.result.mean[static_cast<std::size_t>(sim::TimeKind::kStraggler)], 0);
    if (folded.result.classes.size() < unfolded.result.classes.size()) expect_equal(folded, unfolded);
  }
}

/// Equal in everything, though folding may find no two ranks alike.
void expect_same_step(const Prediction& folded, const Prediction& unfolded) {
  EXPECT_LE(folded.result.classes.size(), unfolded.result.classes.size());
  EXPECT_EQ(folded.result.step_ns, unfolded.result.step_ns);
  EXPECT_EQ(folded.result.mean, unfolded.result.mean);
  EXPECT_EQ(folded.faults ? folded.faults->cost_s : 0, unfolded.faults ? unfolded.faults->cost_s : 0);
}

struct FaultCase {
  const char* what;
  std::string faults;
  bool nics;
};

// 8 to 256 GPUs, of which the first has no other node: there a dead NIC costs nothing.
TEST(Unfolded, DeadNicsAndSlowGpusUnfoldWhatTheyTouch) {
  const FaultCase cases[] = {
      {"a NIC", "{dead_nic: {node: 0, nic: 2}}", true},
      {"two NICs of a node", "{dead_nic: [{node: 0, nic: 2}, {node: 0, nic: 3}]}", true},
      {"two slow GPUs", "{slow_gpu: [{rank: 5, factor: 0.5}, {rank: 2, factor: 0.8}]}", false},
      {"both", "{slow_gpu: {rank: 1, factor: 0.5}, dead_nic: {node: 0, nic: 7}}", false},
  };
  for (const FaultCase& fault : cases) {
    for (const auto& [tensor, pipeline, data] : kPlans) {
      for (const std::string_view schedule : {"1f1b", "interleaved"}) {
        if (schedule == "interleaved" && pipeline == 1) continue;
        SCOPED_TRACE(fmt::format("{}: {} x {} x {} {}", fault.what, tensor, pipeline, data, schedule));
        const Scenario scenario = plan_of(tensor, pipeline, data, schedule, schedule == "1f1b" ? 1 : 2, fault.faults);
        const Prediction folded = predict(scenario), unfolded = predict(scenario, {.unfolded = true});
        expect_same_step(folded, unfolded);
        ASSERT_TRUE(folded.faults);
        const bool leaves_node = tensor * pipeline * data > 8;
        if (fault.nics && !leaves_node) {
          EXPECT_EQ(folded.faults->cost_s, 0);
        } else {
          EXPECT_GE(folded.faults->cost_s, 0);
        }
        if (tensor * pipeline * data > 64) {
          EXPECT_LT(folded.result.classes.size(), unfolded.result.classes.size() / 2);
        }
      }
    }
  }
}

// Two data groups that had a NIC each share one: their reductions, all that this job waits for, take longer.
TEST(Unfolded, ADeadNicCostsWhatItsNeighbourMustShare) {
  Scenario scenario = plan_of(8, 1, 4, "1f1b", 1, "{dead_nic: {node: 3, nic: 2}}");
  scenario.software.implementation.overlap_gradient_reduce = false;
  const Prediction with = predict(scenario);
  ASSERT_TRUE(with.faults);
  EXPECT_GT(with.faults->cost_s, 0);
  EXPECT_DOUBLE_EQ(with.faults->cost_s + with.faults->sound_step_s, with.step.time_s);
  EXPECT_EQ(with.result.classes.size(), 3U);    // GPUs 2, which go through a spine now; GPUs 3; all others
  scenario.faults.dead_nics.push_back({3, 3});  // now three groups on NIC 0
  EXPECT_GT(predict(scenario).faults->cost_s, with.faults->cost_s);
}

// A table that lists the packed seats changes nothing; one that scatters the ranks is simulated as it is.
TEST(Unfolded, ListedSeats) {
  for (const auto& [tensor, pipeline, data] : kPlans) {
    SCOPED_TRACE(fmt::format("{} x {} x {}", tensor, pipeline, data));
    Scenario scenario = plan_of(tensor, pipeline, data, "1f1b", 1);
    const std::int64_t packed_ns = predict(scenario).result.step_ns;
    const int ranks = tensor * pipeline * data;
    for (int rank = 0; rank < ranks; ++rank) scenario.placement.seats.push_back({rank / 8, rank % 8, -1});
    EXPECT_EQ(predict(scenario).result.step_ns, packed_ns);
    for (int rank = 0; rank < ranks; ++rank) {  // 5 is prime to all these numbers of ranks
      const int gpu = rank * 5 % ranks;
      scenario.placement.seats[static_cast<std::size_t>(rank)] = {gpu / 8, gpu % 8, rank % 3 == 0 ? gpu / 8 % 8 : -1};
    }
    expect_same_step(predict(scenario), predict(scenario, {.unfolded = true}));
  }
}

TEST(Unfolded, RailIsExactToo) {
  for (const auto& [tensor, pipeline, data] : kPlans) {
    SCOPED_TRACE(fmt::format("{} x {} x {}", tensor, pipeline, data));
    Scenario scenario = plan_of(tensor, pipeline, data, "1f1b", 1);
    scenario.placement.rule = "rail";
    expect_same_step(predict(scenario), predict(scenario, {.unfolded = true}));
  }
}

strategies::Program program_of(const Scenario& scenario) {
  return strategies::build_program(scenario.model, scenario.training, scenario.plan, scenario.software.implementation);
}

/// Without taking the slowest rank of a role for all.
std::int64_t split_step_ns(const Scenario& scenario) {
  const strategies::Program program = program_of(scenario);
  return simulate_scenario(scenario, program, place_job(scenario, program), {.split = true}).step_ns;
}

/// plan_of, with a node per unit and two units per pod, so that groups and messages cross both tiers.
Scenario on_small_units(int tensor, int pipeline, int data, const std::string& faults = "{}") {
  Scenario scenario = plan_of(tensor, pipeline, data, "1f1b", 1, faults);
  scenario.cluster.fabric.nodes_per_unit = 1;
  scenario.cluster.fabric.units_per_pod = 2;
  return scenario;
}

constexpr int kPlansOnUnits[][3] = {{4, 2, 2}, {8, 2, 4}, {4, 4, 8}, {2, 8, 4}, {8, 4, 8}};

TEST(Unfolded, HashCollisionsUnfoldWhatTheyTouch) {
  int slower = 0, folded_less_than_single = 0;
  for (const auto& [tensor, pipeline, data] : kPlansOnUnits) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      SCOPED_TRACE(fmt::format("{} x {} x {} seed {}", tensor, pipeline, data, seed));
      Scenario scenario = on_small_units(tensor, pipeline, data);
      const std::int64_t balanced = split_step_ns(scenario);
      scenario.cluster.fabric.hash_seed = seed;
      const Prediction folded = predict(scenario), unfolded = predict(scenario, {.unfolded = true});
      EXPECT_EQ(folded.result.step_ns, unfolded.result.step_ns);
      EXPECT_GE(folded.result.step_ns, balanced);
      slower += folded.result.step_ns > balanced ? 1 : 0;
      if (folded.result.classes.size() == unfolded.result.classes.size()) continue;
      ++folded_less_than_single;
      expect_equal(folded, unfolded);
    }
  }
  EXPECT_GT(slower, 3);
  EXPECT_GT(folded_less_than_single, 1);
}

// One NIC per leaf, one uplink for it: nobody to collide with.
TEST(Unfolded, WithoutCollisionsNothingUnfolds) {
  for (const auto& [tensor, pipeline, data] : kPlansOnUnits) {
    Scenario scenario = on_small_units(tensor, pipeline, data);
    scenario.cluster.fabric.units_per_pod = 0;
    const strategies::Program program = program_of(scenario);
    const sim::StepResult balanced =
        simulate_scenario(scenario, program, place_job(scenario, program), {.split = true});
    scenario.cluster.fabric.hash_seed = 1;
    const Prediction hashed = predict(scenario);
    EXPECT_EQ(hashed.result.classes.of_rank, balanced.classes.of_rank);
    EXPECT_EQ(hashed.result.step_ns, balanced.step_ns);
    EXPECT_THAT(hashed.warnings.front(), HasSubstr("no flows share an uplink; the step takes 1.000 times"));
  }
}

TEST(Unfolded, AThinLinkUnfoldsWhatItTouches) {
  using hw_models::ThinLink;
  for (const auto& [tensor, pipeline, data] : kPlansOnUnits) {
    for (const ThinLink& thin : {ThinLink{ThinLink::At::kLeaf, 3, 0.05}, ThinLink{ThinLink::At::kNode, 1, 0.05}}) {
      SCOPED_TRACE(fmt::format("{} x {} x {}", tensor, pipeline, data));
      Scenario scenario = on_small_units(tensor, pipeline, data);
      const std::int64_t sound = split_step_ns(scenario);
      scenario.faults.thin_link = thin;
      const Prediction folded = predict(scenario), unfolded = predict(scenario, {.unfolded = true});
      EXPECT_GT(folded.result.step_ns, sound);
      EXPECT_EQ(folded.result.step_ns, unfolded.result.step_ns);
      if (folded.result.classes.size() < unfolded.result.classes.size()) expect_equal(folded, unfolded);
    }
  }
}

TEST(HashedRouting, IsReported) {
  Scenario scenario = on_small_units(8, 4, 8);
  EXPECT_TRUE(predict(scenario).warnings.empty());
  scenario.cluster.fabric.hash_seed = 5;
  const std::vector<std::string> warnings = predict(scenario).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings.front(), StartsWith("hashed routing, seed 5: flows on the worst uplink: "));
  EXPECT_THAT(warnings.front(), HasSubstr("messages "));
  EXPECT_THAT(warnings.front(), HasSubstr(" times as long as with balanced routing"));
}

/// tensor x pipeline x data ranks on as many GPUs of the listed nodes.
Scenario on_nodes(const std::string& cluster, int tensor, int pipeline, int data, std::string_view schedule, int chunks,
                  const std::string& more = "") {
  const std::string text = fmt::format(
      "model: {{layers: 16, hidden: 1024, heads: 16, ffn: 4096, vocabulary: 32000}}\n"
      "training: {{sequence_length: 1024, global_batch: {}}}\n"
      "cluster: {{{}, fabric: infiniband-hdr}}\n"
      "plan: {{tensor: {}, pipeline: {}, data: {}, schedule: {}, chunks: {}, zero: 1}}\n{}",
      8 * data, cluster, tensor, pipeline, data, schedule, chunks, more);
  return load_scenario_text(text, "mixed.yaml", ".", Catalog());
}

constexpr int kMixedPlans[][3] = {{8, 1, 2}, {8, 2, 1}, {4, 2, 4}, {2, 4, 4}, {4, 4, 4}, {8, 4, 8}};  // 16 to 256 GPUs

TEST(Mixed, EqualsTheUnfoldedStepToTheNanosecond) {
  for (const auto& [tensor, pipeline, data] : kMixedPlans) {
    const int half = tensor * pipeline * data / 16;
    const std::string nodes =
        fmt::format("nodes: [{{node: dgx-a100, count: {}}}, {{node: dgx-h100, count: {}}}]", half, half);
    for (const strategies::Schedule& schedule : strategies::schedules()) {
      if (schedule.minimum_chunks > 1 && pipeline == 1) continue;
      for (const std::string_view order : {"tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"}) {
        SCOPED_TRACE(fmt::format("{} x {} x {} {} {}", tensor, pipeline, data, schedule.name, order));
        Scenario scenario = on_nodes(nodes, tensor, pipeline, data, schedule.name, schedule.minimum_chunks);
        scenario.plan.rank_order = order;
        expect_equal(predict(scenario), predict(scenario, {.unfolded = true}));
      }
    }
  }
}

TEST(Mixed, UnequalNodesAndFaultsToo) {
  struct Case {
    std::string nodes, more;
  };
  const Case cases[] = {
      {"nodes: [{node: dgx-a100, count: 1}, {node: dgx-h100, count: 2}, {node: dgx-a100, count: 1}]", ""},
      {"nodes: [{node: dgx-a100, count: 1}, {node: {base: dgx-a100, gpus: 4, nics: 4, scale_up_domain: 4}, count: 2}, "
       "{node: dgx-h100, count: 2}]",
       ""},
      {"nodes: [{node: dgx-a100, count: 2}, {node: dgx-h100, count: 2}]", "placement: rail\n"},
      {"nodes: [{node: dgx-a100, count: 2}, {node: dgx-h100, count: 2}]",
       "faults: {slow_gpu: {rank: 17, factor: 0.3}, dead_nic: {node: 0, nic: 3}}\n"},
      {"nodes: [{node: {base: dgx-a100, nics: 1}, count: 2}, {node: dgx-h100, count: 2}]", ""}};
  for (const Case& c : cases) {
    for (const auto& [tensor, pipeline, data] : {std::array{4, 2, 4}, {8, 4, 1}, {2, 4, 4}}) {
      SCOPED_TRACE(fmt::format("{} {}: {} x {} x {}", c.nodes, c.more, tensor, pipeline, data));
      const Scenario scenario = on_nodes(c.nodes, tensor, pipeline, data, "1f1b", 1, c.more);
      expect_same_step(predict(scenario), predict(scenario, {.unfolded = true}));
    }
  }
}

TEST(Mixed, NodesOfOneKindAreThePlainCluster) {
  for (const auto& [tensor, pipeline, data] : kMixedPlans) {
    SCOPED_TRACE(fmt::format("{} x {} x {}", tensor, pipeline, data));
    const int nodes = tensor * pipeline * data / 8;
    const Scenario plain = on_nodes(fmt::format("node: dgx-h100, nodes: {}", nodes), tensor, pipeline, data, "1f1b", 1);
    const Scenario mixed = on_nodes(fmt::format("nodes: [{{node: dgx-h100, count: {}}}, {{node: dgx-h100, count: {}}}]",
                                                nodes / 2, nodes - nodes / 2),
                                    tensor, pipeline, data, "1f1b", 1);
    for (const bool unfolded : {false, true}) {
      const SimulationChoice choice{.unfolded = unfolded, .split = true};
      const Prediction expected = predict(plain, choice), found = predict(mixed, choice);
      EXPECT_EQ(found.result.step_ns, expected.result.step_ns);
      EXPECT_EQ(found.result.mean, expected.result.mean);
      EXPECT_EQ(found.memory.device_bytes, expected.memory.device_bytes);
      EXPECT_DOUBLE_EQ(found.step.mfu, expected.step.mfu);
      EXPECT_NEAR(found.run.average_gpu_watts / expected.run.average_gpu_watts, 1, 1e-6);  // times are whole ns
    }
  }
}

double share(const Prediction& prediction, sim::TimeKind kind) {
  return static_cast<double>(prediction.result.mean[static_cast<std::size_t>(kind)]) /
         static_cast<double>(prediction.result.step_ns);
}

// Replicas of equal work: those on the fast GPUs wait for the others' gradients, the step is theirs. Stages by kind:
// the fast stage lacks work.
TEST(Mixed, TheFastWaitForTheSlow) {
  const std::string nodes = "nodes: [{node: dgx-a100, count: 1}, {node: dgx-h100, count: 1}]";
  const auto step = [](const std::string& of, int pipeline, int data) {
    return predict(on_nodes(of, 8, pipeline, data, "1f1b", 1));
  };
  const Prediction replicas = step(nodes, 1, 2), slow = step("node: dgx-a100, nodes: 2", 1, 2);
  EXPECT_NEAR(replicas.step.time_s / slow.step.time_s, 1, 0.03);
  EXPECT_GT(share(replicas, sim::TimeKind::kStraggler), 0.1);
  ASSERT_EQ(replicas.step.gpu_kinds.size(), 2U);
  EXPECT_EQ(replicas.step.gpu_kinds[0].gpu, "a100-sxm-80gb");
  EXPECT_EQ(replicas.step.gpu_kinds[0].ranks, 8);
  EXPECT_LT(replicas.step.gpu_kinds[0].waits, 0.02);
  EXPECT_GT(replicas.step.gpu_kinds[1].waits, 0.2);
  EXPECT_THAT(replicas.bottleneck.advice, HasSubstr("h100-sxm-80gb waits for a100-sxm-80gb"));
  const Prediction stages = step(nodes, 2, 1);
  EXPECT_GT(share(stages, sim::TimeKind::kImbalance), 0.05);
  EXPECT_LT(stages.step.time_s, step("node: dgx-a100, nodes: 2", 2, 1).step.time_s);
  EXPECT_GT(stages.step.time_s, step("node: dgx-h100, nodes: 2", 2, 1).step.time_s);
}

TEST(Mixed, MemoryIsThatOfEachKind) {
  const Prediction small =
      predict(on_nodes("nodes: [{node: dgx-a100-40gb, count: 1}, {node: dgx-h100, count: 1}]", 8, 2, 1, "1f1b", 1));
  ASSERT_EQ(small.memory.gpu_kinds.size(), 2U);
  EXPECT_LT(small.memory.gpu_kinds[0].capacity_bytes, small.memory.gpu_kinds[1].capacity_bytes);
  EXPECT_EQ(small.memory.gpu_kinds[0].stage, 0);
  EXPECT_EQ(small.memory.gpu_kinds[1].stage, 1);
  EXPECT_EQ(small.memory.capacity_bytes, small.memory.gpu_kinds[0].capacity_bytes);
  EXPECT_TRUE(small.memory.fits);
  Scenario tight = on_nodes("nodes: [{node: dgx-h100, count: 1}, {node: dgx-a100, count: 1, gpu: {memory: 1 GiB}}]", 8,
                            2, 1, "1f1b", 1);
  const Prediction full = predict(tight);
  EXPECT_FALSE(full.memory.fits);
  EXPECT_GE(full.memory.gpu_kinds[0].margin_bytes(), 0);
  EXPECT_LT(full.memory.gpu_kinds[1].margin_bytes(), 0);
  EXPECT_THAT(full.bottleneck.advice, HasSubstr("GiB too much on stage 1 on a100-sxm-80gb"));
}

TEST(Mixed, TensorGroupsOfTwoKindsAreWarnedOf) {
  const Prediction prediction =
      predict(on_nodes("nodes: [{node: dgx-a100, count: 1}, {node: dgx-h100, count: 1}]", 16, 1, 1, "1f1b", 1));
  EXPECT_THAT(prediction.warnings, testing::Contains(HasSubstr("all 1 tensor groups of 16 ranks mix a100-sxm-80gb and "
                                                               "h100-sxm-80gb: in every layer the faster GPUs wait")));
}

}  // namespace
}  // namespace scenarios
