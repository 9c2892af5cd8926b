// What becomes of the cells of a row. The words are those that occur in the published tables.
#include "scenarios/accuracy/run_scenario.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>

#include "strategies/build_program.h"
#include "tests/scenarios/accuracy/example_runs.h"

namespace scenarios {
namespace {

const Catalog& catalog() {
  static const Catalog catalog;
  return catalog;
}

std::string skipped(const Cells& changes) {
  const auto made = scenario_of(example_run(changes), catalog());
  const auto* skipped = std::get_if<Skipped>(&made);
  return skipped == nullptr ? "predicted" : skipped->reason;
}

RunScenario made(const Cells& changes) {
  auto made = scenario_of(example_run(changes), catalog());
  if (const auto* skipped = std::get_if<Skipped>(&made)) {
    ADD_FAILURE() << skipped->reason;
    return {};
  }
  return std::get<RunScenario>(made);
}

// The words of the tables, on a GPU and a stack that have them; the A100 of the example has none (below).
TEST(RunScenario, NarrowFormats) {
  using hw_models::DType;
  using strategies::Scaling;
  struct Case {
    const char *word, *gpu;
    DType dtype;
    Scaling scaling;
  };
  for (const Case& c : {Case{"fp8", "h100-sxm-80gb", DType::kFp8, Scaling::kUsual},
                        Case{"fp8-delayed", "h100-sxm-80gb", DType::kFp8, Scaling::kDelayed},
                        Case{"fp8-tensorwise", "h100-sxm-80gb", DType::kFp8, Scaling::kTensorwise},
                        Case{"fp8-cs", "h100-sxm-80gb", DType::kFp8, Scaling::kTensorwise},
                        Case{"fp8-blockwise", "h100-sxm-80gb", DType::kFp8, Scaling::kBlockwise},
                        Case{"mxfp8", "b200-sxm", DType::kMxfp8, Scaling::kMicroscaling},
                        Case{"nvfp4", "b200-sxm", DType::kNvfp4, Scaling::kTwoLevel}}) {
    const Scenario scenario = made({{"precision", c.word}, {"gpu", c.gpu}}).scenario;
    EXPECT_EQ(scenario.training.precision, c.dtype) << c.word;
    EXPECT_EQ(scenario.training.scaling, c.scaling) << c.word;
    EXPECT_EQ(scenario.software.implementation.low_precision.any_layout, std::string(c.gpu) == "b200-sxm");
  }
}

TEST(RunScenario, TakesOverWhatTheRowSays) {
  const RunScenario run = made({});
  EXPECT_FALSE(run.usual_software);
  EXPECT_FALSE(run.usual_network);
  EXPECT_FALSE(run.recompute_unknown);
  const Scenario& scenario = run.scenario;
  EXPECT_EQ(scenario.name, "run-1");
  EXPECT_EQ(scenario.gpu.name, "a100-sxm-80gb");
  EXPECT_EQ(scenario.cluster.node.name, "dgx-a100");
  EXPECT_EQ(scenario.cluster.nodes, 2);
  EXPECT_EQ(scenario.cluster.fabric.name, "infiniband-hdr");
  EXPECT_EQ(scenario.software.implementation.name, "megatron-core");
  EXPECT_EQ(scenario.training.sequence_length, 4096);
  EXPECT_EQ(scenario.training.global_batch, 64);
  const strategies::PlanSpec& plan = scenario.plan;
  EXPECT_EQ(plan.tensor, 2);
  EXPECT_EQ(plan.pipeline, 2);
  EXPECT_EQ(plan.data, 4);
  EXPECT_EQ(plan.micro_batch, 1);
  EXPECT_EQ(plan.chunks, 1);
  EXPECT_EQ(plan.schedule, "1f1b");
  EXPECT_TRUE(plan.sequence_parallel);
  EXPECT_EQ(plan.zero, 1);
  // 40 (4 x 5120^2 + 3 x 5120 x 13824 + 2 x 5120) + 2 x 32000 x 5120 + 5120
  EXPECT_EQ(strategies::count_parameters(scenario.model).total, 13'015'864'320);
}

struct SkipCase {
  Cells changes;
  const char* reason;
};

const SkipCase kSkipped[] = {
    {{{"experts", "8"}}, "sizes of experts unknown"},
    {{{"mla", "1"}}, "latent attention"},
    {{{"ep", "2"}}, "plan: plan.expert"},  // without experts
    {{{"zero_stage", ""}}, "sharding unknown"},
    {{{"zero_stage", "2"}}, "plan: plan.zero"},  // in a pipeline
    {{{"zero_stage", "4"}}, "ZeRO 4"},
    {{{"precision", "mxfp8"}}, "precision mxfp8"},
    {{{"precision", "fp8"}}, "precision fp8"},
    {{{"precision", "fp8-cs"}}, "precision fp8-cs"},
    {{{"precision", "fp8-delayed"}}, "precision fp8-delayed"},
    {{{"precision", "fp8-tensorwise"}}, "precision fp8-tensorwise"},
    {{{"precision", "fp8-blockwise"}}, "precision fp8-blockwise"},
    {{{"precision", "fp8-rowwise"}}, "precision fp8-rowwise"},
    {{{"precision", "fp8-rowwise"}, {"gpu", "h100-sxm-80gb"}}, "precision fp8-rowwise"},  // not in Megatron-Core
    {{{"precision", "mxfp8"}, {"gpu", "h100-sxm-80gb"}}, "precision mxfp8"},
    {{{"precision", "int8"}, {"gpu", "h100-sxm-80gb"}}, "precision int8"},
    {{{"precision", "nvfp4"}}, "precision nvfp4"},
    {{{"precision", "fp32"}}, "precision fp32"},
    {{{"pp_schedule", "zb-v"}}, "plan: plan.chunks"},
    {{{"pp_schedule", "dualpipe"}}, "schedule dualpipe"},
    {{{"offload", "activations"}}, "offload"},
    {{{"micro_batch", ""}}, "micro-batch unknown"},
    {{{"micro_batch", "0"}}, "micro-batch unknown"},
    {{{"global_batch", ""}}, "micro-batch unknown"},
    {{{"gpus", ""}}, "GPU count unknown"},
    {{{"dp", ""}}, "GPU count unknown"},
    {{{"gpu", ""}}, "GPU not in the catalogue"},
    {{{"gpu", "abacus"}}, "GPU not in the catalogue"},
    {{{"dp", "8"}}, "layout does not multiply to the GPUs"},
    {{{"mlp", "relu"}}, "mlp relu"},
    {{{"mlp", ""}}, "mlp unknown"},
    {{{"position", "sinusoidal"}}, "position sinusoidal"},
    {{{"norm", ""}}, "norm unknown"},
    {{{"recompute", "some"}}, "recompute some"},
    {{{"ffn", ""}}, "model: ffn"},
    {{{"kv_heads", "7"}}, "model: kv_heads"},
    {{{"global_batch", "66"}}, "plan: training.global_batch"},
    {{{"heads", "41"}, {"kv_heads", "41"}}, "plan: plan.tensor"},
    {{{"layers", "1"}}, "plan: plan.pipeline"},
    {{{"seq_len", "4097"}}, "plan: training.sequence_length"},
    {{{"layers", "1e12"}}, "sizes out of range"},
    {{{"hidden", "1e12"}}, "sizes out of range"},
    {{{"ffn", "1e12"}}, "sizes out of range"},
    {{{"tp", "4294967298"}}, "sizes out of range"},
    {{{"pp", "1e12"}, {"dp", "1e12"}, {"gpus", "1e12"}}, "sizes out of range"},
    {{{"vpp", "1e12"}}, "sizes out of range"},
    {{{"vpp", "0"}}, "sizes out of range"},
    {{{"micro_batch", "1e12"}}, "sizes out of range"},
    {{{"seq_len", "1e12"}}, "sizes out of range"},
    {{{"gpus_per_node", "1e12"}}, "sizes out of range"},
};

TEST(RunScenario, SaysWhyARowIsNotPredicted) {
  EXPECT_EQ(skipped({}), "predicted");
  for (const SkipCase& each : kSkipped) {
    std::string what;
    for (const auto& [column, cell] : each.changes) what += column + "=" + cell + " ";
    EXPECT_EQ(skipped(each.changes), each.reason) << what;
  }
}

TEST(RunScenario, LongWordsAreCutInReasons) {
  EXPECT_LT(skipped({{"precision", std::string(10'000, 'x')}}).size(), 60U);
  EXPECT_LT(skipped({{"pp_schedule", std::string(10'000, 'x')}}).size(), 60U);
}

struct SoftwareCase {
  const char *software, *stack;
  bool usual;
};

constexpr SoftwareCase kSoftware[] = {
    {"nanotron", "nanotron", false},
    {"megatron-lm", "megatron-lm-2022", false},
    {"megatron", "megatron-lm-2022", false},
    {"zero-bubble-megatron", "megatron-lm-2022", false},
    {"nemo", "nemo", false},
    {"nemo/megatron-bridge", "nemo", false},
    {"llm-foundry-fsdp", "llm-foundry", false},
    {"megatron-deepspeed", "megatron-deepspeed", false},
    {"deepspeed", "deepspeed", false},
    {"deepspeed-0.11.1", "deepspeed", false},
    {"deepspeed-zero3", "deepspeed", false},
    {"megatron-core", "megatron-core", false},
    {"megatron-lm-core_v0.6.0", "megatron-core", false},
    {"flagscale(megatron)", "megatron-core", false},
    {"megascale", "megatron-core", false},
    {"torchtitan", "torchtitan", false},
    {"fms-fsdp", "fms-fsdp", false},
    {"internevo", "internevo", false},
    {"paddlenlp", "paddlenlp", false},
    {"torch-ddp/fsdp", "torch", false},
    {"meta-internal", "generic", true},
    {"something new", "generic", true},
    {"", "generic", true},
};

TEST(RunScenario, SoftwareBecomesAStackOrIsCountedAsUnknown) {
  for (const SoftwareCase& each : kSoftware) {
    SCOPED_TRACE(each.software);
    const RunScenario run = made({{"software", each.software}});
    EXPECT_EQ(run.scenario.software.implementation.name, each.stack);
    EXPECT_EQ(run.usual_software, each.usual);
  }
}

TEST(RunScenario, VersionsOfMegatronLm) {
  const auto stack = [](const char* software, const char* date) {
    const RunScenario run = made({{"software", software}, {"software_version_or_date", date}});
    return run.scenario.software.implementation.name;
  };
  EXPECT_EQ(stack("megatron-lm", "dev 2025-01"), "megatron-core");
  EXPECT_EQ(stack("megatron-lm", "lts 2024-10"), "megatron-core");
  EXPECT_EQ(stack("megatron-lm", "2020"), "megatron-lm");
  EXPECT_EQ(stack("megatron-lm", "2021-04"), "megatron-lm");
  EXPECT_EQ(stack("megatron-lm", "2022-05"), "megatron-lm-2022");
  EXPECT_EQ(stack("nanotron", "dev 2025-01"), "nanotron");
}

// The fork's own schedules run in its own runtime; 1F1B in Megatron-LM's.
TEST(RunScenario, ZeroBubbleSchedules) {
  for (const char* schedule : {"zb-1p", "zb-2p"}) {
    const RunScenario run = made({{"software", "zero-bubble-megatron"}, {"pp_schedule", schedule}});
    EXPECT_EQ(run.scenario.software.implementation.name, "zero-bubble");
    EXPECT_EQ(run.scenario.plan.schedule, schedule);
    EXPECT_FALSE(run.scenario.model.tied_embeddings);
  }
  EXPECT_EQ(made({{"pp_schedule", "zb-v"}, {"vpp", "2"}}).scenario.plan.schedule, "zb-v");
}

/// `source` tells BigScience's fork and its launch scripts from other Megatron-DeepSpeed; a table may lack the column.
TEST(RunScenario, BigSciencePublishedItsOwnForkOfMegatronDeepSpeed) {
  const auto stack = [](const char* software, const char* source) {
    return made({{"software", software}, {"source", source}}).scenario.software.implementation.name;
  };
  EXPECT_EQ(stack("megatron-deepspeed", "bigscience-workshop/bigscience@9e64ede train"),
            "megatron-deepspeed-bigscience");
  EXPECT_EQ(stack("megatron-deepspeed", "Smith et al. 2022"), "megatron-deepspeed");
  EXPECT_EQ(stack("megatron-core", "bigscience-workshop/bigscience"), "megatron-core");
  EXPECT_EQ(made({{"software", "megatron-deepspeed"}}).scenario.software.implementation.name, "megatron-deepspeed");
}

TEST(RunScenario, GpusBringTheirUsualNode) {
  for (const auto& [gpu, node] : {std::pair{"h100-sxm-80gb", "dgx-h100"},
                                  {"a100-sxm-80gb", "dgx-a100"},
                                  {"gb200", "gb200-nvl72"},
                                  {"a100-sxm-40gb", "dgx-a100-40gb"},
                                  {"gb300", "gb300-nvl72"},
                                  {"b200-sxm", "dgx-b200"},
                                  {"h100-sxm-96gb-hbm2e", "hgx-h100-96gb"},
                                  {"b300-sxm", "dgx-b300"},
                                  {"a800-sxm-80gb", "hgx-a800"},
                                  {"h800", "hgx-h800"},
                                  {"v100-sxm2-32gb", "dgx-2"},
                                  {"v100-sxm2-16gb", "dgx-1v"},
                                  {"h200-sxm", "dgx-h200"}}) {
    SCOPED_TRACE(gpu);
    const Scenario scenario = made({{"gpu", gpu}, {"precision", "fp16"}}).scenario;
    EXPECT_EQ(scenario.gpu.name, gpu);
    EXPECT_EQ(scenario.cluster.node.name, node);
    EXPECT_EQ(scenario.cluster.node.gpu, gpu);
  }
}

struct NodeCase {
  const char* what;
  Cells changes;
  int gpus, nodes, domain;
};

const NodeCase kNodes[] = {
    {"two whole nodes", {}, 8, 2, 8},
    {"half a node", {{"gpus", "4"}, {"dp", "1"}}, 4, 1, 4},
    {"a node and a half", {{"gpus", "12"}, {"dp", "3"}, {"global_batch", "60"}}, 8, 2, 8},
    {"two V100 boxes of 8 in place of one of 16",
     {{"gpu", "v100-sxm2-16gb"}, {"precision", "fp16"}, {"gpus_per_node", "8"}},
     8,
     2,
     8},
    {"four trays of one NVLink domain", {{"gpu", "gb200"}, {"gpus_per_node", "4"}, {"nvlink_domain", "72"}}, 4, 4, 72},
};

TEST(RunScenario, RacksShareTheGpusOfAJob) {
  const Cells racks{{"gpu", "gb200"}, {"gpus_per_node", "4"}, {"nvlink_domain", "72"},
                    {"gpus", "256"},  {"dp", "64"},           {"tp", "2"},
                    {"pp", "2"}};
  const hw_models::ClusterSpec cluster = made(racks).scenario.cluster;
  EXPECT_EQ(cluster.nodes, 64);
  EXPECT_EQ(cluster.node.scale_up_domain, 64);  // of 72
}

TEST(RunScenario, ReadsExperts) {
  const Cells experts{{"experts", "8"},
                      {"experts_per_token", "2"},
                      {"moe_ffn", "4096"},
                      {"shared_experts", "0.5"},
                      {"dense_layers", "1"},
                      {"ep", "4"},
                      {"etp", ""},
                      {"flags", "note:tokendrop"},
                      {"sequence_parallel", "1"}};
  const RunScenario run = made(experts);
  const strategies::ExpertSpec& spec = *run.scenario.model.experts;
  EXPECT_EQ(spec.experts, 8);
  EXPECT_EQ(spec.per_token, 2);
  EXPECT_EQ(spec.ffn, 4096);
  EXPECT_EQ(spec.shared_ffn, 2048);
  EXPECT_EQ(spec.leading_dense_layers, 1);
  EXPECT_EQ(spec.capacity_factor, 1);
  EXPECT_EQ(run.scenario.plan.expert, 4);
  EXPECT_EQ(run.scenario.plan.expert_tensor, 2);  // as tensor: 4 x 2 ranks are a stage
  Cells wide = experts;
  wide["ep"] = "8";  // leaves no ranks to split them
  EXPECT_EQ(made(wide).scenario.plan.expert_tensor, 1);
  wide["flags"] = "test=te_8experts";
  EXPECT_FALSE(made(wide).scenario.software.implementation.grouped_experts);
  wide["flags"] = "test=te_8experts_groupedGEMM";
  EXPECT_TRUE(made(wide).scenario.software.implementation.grouped_experts);
}

TEST(RunScenario, NodesHoldTheGpus) {
  for (const NodeCase& each : kNodes) {
    SCOPED_TRACE(each.what);
    const hw_models::ClusterSpec cluster = made(each.changes).scenario.cluster;
    EXPECT_EQ(cluster.node.gpus, each.gpus);
    EXPECT_EQ(cluster.nodes, each.nodes);
    EXPECT_EQ(cluster.node.scale_up_domain, each.domain);
  }
}

struct NetworkCase {
  const char *inter_node, *gpu;
  int nics;
  double gigabits_per_s;  ///< of one NIC
  const char* fabric;
  bool usual;
};

constexpr NetworkCase kNetworks[] = {
    {"8x200Gb/s IB", "a100-sxm-80gb", 8, 200, "infiniband-hdr", false},
    {"8x200Gb/s", "a100-sxm-80gb", 8, 200, "infiniband-hdr", false},
    {"8x400Gb/s IB", "h100-sxm-80gb", 8, 400, "infiniband-ndr", false},
    {"8x400Gb/s RDMA", "h100-sxm-80gb", 8, 400, "roce-400g", false},
    {"8x400Gb/s RoCE", "b200-sxm", 8, 400, "roce-400g", false},
    {"8x200Gb/s RoCE (1600 Gb/s per node)", "a100-sxm-80gb", 8, 200, "roce-200g", false},
    {"4x100Gb/s RoCE", "a100-sxm-80gb", 4, 100, "roce-100g", false},
    {"4x100Gb/s OPA", "a100-sxm-80gb", 4, 100, "opa-100", false},
    {"total 800Gb/s per node", "a100-sxm-80gb", 8, 100, "infiniband-hdr", false},
    {"total 400Gb/s per node", "a100-sxm-80gb", 8, 50, "infiniband-hdr", false},
    {"IB 200Gb/s", "h800", 8, 200, "infiniband-hdr", false},
    {"IB 400Gb/s", "h100-sxm-80gb", 8, 400, "infiniband-ndr", false},
    {"16x100Gb/s RoCE", "a100-sxm-80gb", 16, 100, "roce-100g", false},
    {"RoCE, rate unknown", "a100-sxm-80gb", 8, 200, "infiniband-hdr", true},
    {"unknown", "h100-sxm-80gb", 8, 400, "infiniband-ndr", true},
    {"unknown", "a100-sxm-80gb", 8, 200, "infiniband-hdr", true},
    {"none", "a100-sxm-80gb", 8, 200, "infiniband-hdr", true},  // two nodes without a network: somebody forgot it
    {"", "a100-sxm-80gb", 8, 200, "infiniband-hdr", true},
    {"0Gb/s", "a100-sxm-80gb", 8, 200, "infiniband-hdr", true},
    {"xGb/s", "a100-sxm-80gb", 8, 200, "infiniband-hdr", true},
};

TEST(RunScenario, NetworksAreReadOrCountedAsUnknown) {
  for (const NetworkCase& each : kNetworks) {
    SCOPED_TRACE(std::string(each.gpu) + " " + each.inter_node);
    const RunScenario run = made({{"inter_node", each.inter_node}, {"gpu", each.gpu}});
    const hw_models::ClusterSpec& cluster = run.scenario.cluster;
    EXPECT_EQ(cluster.node.nics, each.nics);
    EXPECT_DOUBLE_EQ(cluster.node.nic_bandwidth.value(), each.gigabits_per_s * 1e9 / 8);
    EXPECT_EQ(cluster.fabric.name, each.fabric);
    EXPECT_EQ(run.usual_network, each.usual);
  }
}

TEST(RunScenario, ANetworkThatIsNotUsedIsNotUnknown) {
  for (const char* inter_node : {"none", "unknown"}) {
    EXPECT_FALSE(made({{"inter_node", inter_node}, {"gpus", "8"}, {"dp", "2"}}).usual_network);
    EXPECT_FALSE(made({{"inter_node", inter_node}, {"gpu", "gb200"}, {"gpus_per_node", "4"}}).usual_network);
  }
}

TEST(RunScenario, Precision) {
  EXPECT_EQ(made({{"precision", "bf16"}}).scenario.training.precision, hw_models::DType::kBf16);
  EXPECT_EQ(made({{"precision", "fp16"}}).scenario.training.precision, hw_models::DType::kFp16);
}

TEST(RunScenario, Plan) {
  const auto plan = [](const Cells& changes) { return made(changes).scenario.plan; };
  EXPECT_EQ(plan({{"recompute", "none"}}).recompute, strategies::Recompute::kNone);
  EXPECT_EQ(plan({{"recompute", "selective"}}).recompute, strategies::Recompute::kSelective);
  EXPECT_EQ(plan({{"recompute", "full"}}).recompute, strategies::Recompute::kFull);
  EXPECT_EQ(plan({{"zero_stage", "0"}}).zero, 0);
  EXPECT_EQ(plan({{"vpp", "5"}, {"pp_schedule", "interleaved"}}).chunks, 5);
  EXPECT_EQ(plan({{"vpp", "5"}, {"pp_schedule", "interleaved"}}).schedule, "interleaved");
  EXPECT_EQ(plan({{"pp_schedule", ""}}).schedule, "1f1b");
  EXPECT_FALSE(plan({{"sequence_parallel", ""}}).sequence_parallel);
  EXPECT_FALSE(plan({{"sequence_parallel", "0"}}).sequence_parallel);
  EXPECT_FALSE(plan({{"tp", "1"}, {"dp", "8"}}).sequence_parallel);  // says 1, but there is nothing to split
}

TEST(RunScenario, EmbeddingAndLossCountAsLayersWhereTheSplitNeedsIt) {
  const auto counted = [](const Cells& changes) { return made(changes).scenario.plan.count_embedding_and_loss; };
  EXPECT_FALSE(counted({}));
  EXPECT_TRUE(counted({{"layers", "38"}, {"pp", "4"}, {"dp", "2"}}));   // 40 / 4
  EXPECT_FALSE(counted({{"layers", "39"}, {"pp", "4"}, {"dp", "2"}}));  // neither 39 nor 41 divides
  EXPECT_TRUE(counted({{"layers", "42"}, {"pp", "4"}, {"dp", "2"}}));
  EXPECT_TRUE(counted({{"flags", "first and last stage hold one layer fewer"}}));
}

// What torchtitan calls asynchronous tensor parallelism; the word means something else elsewhere.
TEST(RunScenario, AsynchronousTensorParallelismOfTorchtitan) {
  const auto beside = [](const Cells& changes) {
    return made(changes).scenario.software.implementation.overlap_weight_gradient;
  };
  EXPECT_FALSE(beside({{"software", "torchtitan"}}));
  EXPECT_FALSE(beside({{"software", "torchtitan"}, {"overlap_tp", "0"}}));
  EXPECT_TRUE(beside({{"software", "torchtitan"}, {"overlap_tp", "1"}}));
  EXPECT_EQ(beside({{"overlap_tp", "0"}}), beside({{"overlap_tp", "1"}}));
}

TEST(RunScenario, MachineWithAPublishedProfileHasAGpuOfItsOwn) {
  const Cells b200{{"gpu", "b200-sxm"}};
  EXPECT_EQ(made(b200).scenario.gpu.name, "b200-sxm");
  EXPECT_EQ(made({{"gpu", "b200-sxm"}, {"source", "MooreThreads/SimuMax@1 runs.csv"}}).scenario.gpu.name,
            "b200-sxm-simumax");
  EXPECT_EQ(made({{"source", "MooreThreads/SimuMax@1 runs.csv"}}).scenario.gpu.name, made({}).scenario.gpu.name);
}

TEST(RunScenario, UnknownRecomputeIsPredictedWithoutAndSaid) {
  const RunScenario run = made({{"recompute", ""}});
  EXPECT_TRUE(run.recompute_unknown);
  EXPECT_EQ(run.scenario.plan.recompute, strategies::Recompute::kNone);
}

TEST(RunScenario, OverlapThatMattersAndIsNotStatedIsSaid) {
  EXPECT_TRUE(made({{"overlap_dp", ""}}).overlap_unstated);
  EXPECT_FALSE(made({{"overlap_dp", "0"}}).overlap_unstated);
  EXPECT_FALSE(made({{"overlap_dp", "1"}}).overlap_unstated);
  // One replica reduces nothing.
  EXPECT_FALSE(made({{"overlap_dp", ""}, {"dp", "1"}, {"tp", "8"}, {"pp", "2"}}).overlap_unstated);
}

TEST(RunScenario, WhatTheRowSaysOfTheImplementationWins) {
  const auto implementation = [](const Cells& changes) { return made(changes).scenario.software.implementation; };
  const strategies::Implementation stack = implementation({{"flash_attention", ""}, {"overlap_dp", ""}});
  EXPECT_EQ(stack.attention, catalog().software("megatron-core")->implementation.attention);
  EXPECT_EQ(stack.overlap_gradient_reduce, catalog().software("megatron-core")->implementation.overlap_gradient_reduce);
  EXPECT_EQ(implementation({{"flash_attention", "0"}}).attention, hw_models::AttentionKernel::kUnfused);
  EXPECT_EQ(implementation({{"flash_attention", "1"}}).attention, hw_models::AttentionKernel::kFlash);
  EXPECT_FALSE(implementation({{"overlap_dp", "0"}}).overlap_gradient_reduce);
  EXPECT_TRUE(implementation({{"overlap_dp", "1"}}).overlap_gradient_reduce);
}

// Before the repair of nanotron's pipeline exchange the host waited in it; runs without a pipeline never did.
TEST(RunScenario, HostsOfNanotronRunAheadExceptInPipelinesBeforeTheirRepair) {
  const auto defers = [](const char* pipeline, const char* data, const char* flags) {
    return made({{"software", "nanotron"}, {"pp", pipeline}, {"dp", data}, {"flags", flags}, {"grad_accum", ""}})
        .scenario.software.prices.defers_frees;
  };
  EXPECT_TRUE(defers("2", "4", "after-pp-fix"));
  EXPECT_FALSE(defers("2", "4", "before-pp-fix"));
  EXPECT_TRUE(defers("1", "8", "after-pp-fix"));
  EXPECT_TRUE(defers("1", "8", "before-pp-fix"));
}

TEST(RunScenario, ModelsOfEveryKindAreCounted) {
  const auto parameters = [](const Cells& changes) {
    return strategies::count_parameters(made(changes).scenario.model).total;
  };
  const Cells gpt{{"layers", "2"},   {"hidden", "8"},       {"heads", "2"},          {"kv_heads", "2"},
                  {"head_dim", "4"}, {"ffn", "32"},         {"vocab", "10"},         {"mlp", "gelu"},
                  {"seq_len", "16"}, {"norm", "layernorm"}, {"position", "learned"}, {"tied_embeddings", "1"}};
  // Layer: attention 4 x 8^2 + 4 x 8, MLP 2 x 8 x 32 + 32 + 8, norms 4 x 8; tables 10 x 8 and 16 x 8; last norm 16.
  EXPECT_EQ(parameters(gpt), 2 * (256 + 32 + 512 + 40 + 32) + 80 + 128 + 16);
  Cells alibi = gpt;
  alibi["position"] = "alibi";
  EXPECT_EQ(parameters(alibi), parameters(gpt) - 128);
  Cells squared = gpt;  // no biases of matrices
  squared["mlp"] = "squared-relu";
  EXPECT_EQ(parameters(squared), parameters(gpt) - 2 * (32 + 40));
  Cells own_head = gpt;
  own_head["tied_embeddings"] = "0";
  EXPECT_EQ(parameters(own_head), parameters(gpt) + 80);
}

}  // namespace
}  // namespace scenarios
