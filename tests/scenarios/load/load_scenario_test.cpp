#include "scenarios/load/load_scenario.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/load/sections.h"
#include "tests/scenarios/cli/run_binary.h"
#include "tests/scenarios/load/bad_scenarios.h"

namespace scenarios {
namespace {

const char* const kScenario = R"(model: llama3-70b
training: {sequence_length: 8192, global_batch: 1024, precision: bf16, tokens: 15T, input: {samples_per_s: unlimited}}
cluster:
  node: dgx-h100
  nodes: 64
  fabric: {kind: rail-optimized, oversubscription: 2}
  price: {usd_per_gpu_hour: 2.5}
plan: {tensor: 8, pipeline: 4, micro_batch: 2, schedule: interleaved, chunks: 5, layers_per_stage: auto,
       sequence_parallel: true, recompute: selective, zero: 1, rank_order: tp-cp-dp-pp}
software: megatron-core
)";

Scenario load(const std::string& text, const std::vector<Override>& overrides = {}) {
  return load_scenario_text(text, "folder/scenario.yaml", "no-such-folder", Catalog(), overrides);
}

std::string refusal(const std::string& text, const std::vector<Override>& overrides) {
  try {
    load(text, overrides);
    return "accepted";
  } catch (const InputError& problem) {
    return problem.what();
  }
}

TEST(LoadScenarioTest, ReadsEverySection) {
  const Scenario scenario = load(kScenario);
  EXPECT_EQ(scenario.name, "scenario.yaml");
  EXPECT_EQ(scenario.model.layers, 80);
  EXPECT_EQ(scenario.training.sequence_length, 8192);
  EXPECT_EQ(scenario.training.global_batch, 1024);
  EXPECT_EQ(scenario.training.tokens, 15e12);
  EXPECT_EQ(scenario.training.input_samples_per_s, std::nullopt);
  EXPECT_EQ(scenario.cluster.nodes, 64);
  EXPECT_EQ(scenario.cluster.node.name, "dgx-h100");
  EXPECT_EQ(scenario.cluster.fabric.name, "infiniband-ndr");
  EXPECT_EQ(scenario.cluster.fabric.oversubscription, 2);
  EXPECT_EQ(scenario.gpu.name, "h100-sxm-80gb");
  EXPECT_EQ(scenario.price.usd_per_gpu_hour, 2.5);
  EXPECT_EQ(scenario.plan.data, 16);  // 512 / (8 x 4)
  EXPECT_EQ(scenario.plan.micro_batch, 2);
  EXPECT_EQ(scenario.plan.chunks, 5);
  EXPECT_TRUE(scenario.plan.sequence_parallel);
  EXPECT_EQ(scenario.plan.recompute, strategies::Recompute::kSelective);
  EXPECT_EQ(scenario.plan.zero, 1);
  EXPECT_EQ(scenario.plan.rank_order, "tp-cp-dp-pp-ep");
  EXPECT_EQ(scenario.software.implementation.name, "megatron-core");
  EXPECT_TRUE(scenario.warnings.empty());
}

TEST(LoadScenarioTest, DefaultsComeFromTheCatalogue) {
  const Scenario scenario = load(
      "model: llama3-8b\ntraining: {sequence_length: 4096, global_batch: 64}\ncluster: {node: dgx-h100}\nplan: {}\n");
  EXPECT_EQ(scenario.cluster.nodes, 1);
  EXPECT_EQ(scenario.plan.data, 8);
  EXPECT_EQ(scenario.plan.schedule, "1f1b");
  const double usd_per_hour = Catalog().node("dgx-h100")->usd_per_hour;
  EXPECT_EQ(scenario.price.usd_per_gpu_hour, usd_per_hour / 8);
  EXPECT_NE(scenario.price.source.find("dgx-h100"), std::string::npos);
}

TEST(LoadScenarioTest, ReadsExperts) {
  const std::string rest =
      "cluster: {node: dgx-h100, nodes: 2}\nplan: {tensor: 2, sequence_parallel: true, expert: 4, "
      "expert_tensor: 1}\n";
  const auto with = [&](const std::string& routing) {
    return load("model: mixtral-8x7b\ntraining: {sequence_length: 4096, global_batch: 64" + routing + "}\n" + rest);
  };
  const Scenario balanced = with(", routing: balanced");
  EXPECT_EQ(balanced.plan.expert, 4);
  EXPECT_EQ(balanced.plan.expert_tensor, 1);
  EXPECT_EQ(balanced.plan.expert_replicas(), 4);
  EXPECT_EQ(balanced.training.routing.exponent, 0);
  EXPECT_EQ(with(", routing: {power_law: 0.5}").training.routing.exponent, 0.5);
  EXPECT_EQ(with(", routing: {choices: [4, 1, 1, 1, 1, 2, 2, 2]}").training.routing.choices.size(), 8U);
  EXPECT_TRUE(with("").training.routing.choices.empty());
}

TEST(LoadScenarioTest, MapsChangeTheirBase) {
  const Catalog catalog;
  const Scenario scenario = load(R"(model: {base: llama3-8b, layers: 30}
training: {sequence_length: 4096, global_batch: 60, input: {samples_per_s: 3}}
cluster:
  node: {base: p4d.24xlarge, overhead_power: 2 kW}
  gpus: 16
  gpu: {memory: 30 GiB}
  price: {usd_per_node: 200000, years: 3, power_usd_per_kwh: 0.1}
plan: {tensor: 4, pipeline: 4, layers_per_stage: [7, 8, 8, 7]}
software: {prices: {kernel_launch: 9 us}}
)");
  EXPECT_EQ(scenario.model.layers, 30);
  EXPECT_EQ(scenario.model.hidden, catalog.model("llama3-8b")->hidden);
  EXPECT_EQ(scenario.training.input_samples_per_s, 3);
  EXPECT_EQ(scenario.cluster.nodes, 2);
  EXPECT_EQ(scenario.cluster.node.nics, 4);
  EXPECT_EQ(scenario.cluster.node.overhead_power.value(), 2000);
  EXPECT_EQ(scenario.cluster.fabric.name, "efa-v1");
  EXPECT_EQ(scenario.gpu.memory.value(), std::int64_t{30} << 30);
  EXPECT_EQ(scenario.gpu.multiprocessors, catalog.gpu("a100-sxm-40gb")->multiprocessors);
  EXPECT_EQ(scenario.price.usd_per_node, 200000);
  EXPECT_EQ(scenario.price.usd_per_gpu_hour, 0);
  EXPECT_EQ(scenario.plan.layers_per_stage, (std::vector<int>{7, 8, 8, 7}));
  EXPECT_DOUBLE_EQ(scenario.software.prices.kernel_launch.value(), 9e-6);
  EXPECT_EQ(scenario.software.prices.synchronize, catalog.software("megatron-core")->prices.synchronize);
}

constexpr const char* kMixed = R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 96}
cluster:
  nodes:
    - {node: dgx-a100, count: 1}
    - {node: {base: dgx-h100, nics: 4}, count: 2, gpu: {memory: 70 GiB}}
  fabric: infiniband-hdr
plan: {tensor: 8}
)";

TEST(LoadScenarioTest, AListMixesNodes) {
  const Scenario scenario = load(kMixed);
  const hw_models::ClusterSpec& cluster = scenario.cluster;
  ASSERT_EQ(cluster.pools.size(), 2U);
  EXPECT_EQ(cluster.nodes, 3);
  EXPECT_EQ(cluster.gpus(), 24);
  EXPECT_EQ(cluster.node.name, "dgx-a100");
  EXPECT_EQ(cluster.pools[0].gpu.name, "a100-sxm-80gb");
  EXPECT_EQ(cluster.pools[1].nodes, 2);
  EXPECT_EQ(cluster.pools[1].node.nics, 4);
  EXPECT_EQ(cluster.pools[1].gpu.memory.value(), std::int64_t{70} << 30);
  EXPECT_EQ(cluster.fabric.name, "infiniband-hdr");
  EXPECT_EQ(scenario.gpu.name, "a100-sxm-80gb");
  EXPECT_EQ(scenario.plan.data, 3);
  EXPECT_EQ(load(kMixed, {{"cluster.nodes", "[{node: dgx-h100, count: 2}]"}}).cluster.gpus(), 16);
  // H100 and H200 nodes usually have one network, and prices on demand.
  const Scenario alike =
      load(kScenario, {{"cluster", "{nodes: [{node: dgx-h100, count: 32}, {node: dgx-h200, count: 32}]}"}});
  EXPECT_EQ(alike.cluster.fabric.name, "infiniband-ndr");
}

TEST(LoadScenarioTest, OneNumberDoesNotSizeAList) {
  for (const char* word : {"nodes", "gpus", "cluster.nodes", "cluster.gpus"}) {
    try {
      load(kMixed, {{word, "16"}});
      FAIL() << word;
    } catch (const InputError& problem) {
      const std::string text = problem.what();
      EXPECT_NE(text.find("one number does not say how many of each; write the whole list"), std::string::npos) << text;
      EXPECT_EQ(text.find("is missing"), std::string::npos) << text;
    }
  }
}

TEST(LoadScenarioTest, AThinLinkIsAWarning) {
  const Scenario leaf = load(kScenario, {{"faults.thin_link", "{leaf: 9, factor: 0.5}"}});
  ASSERT_TRUE(leaf.faults.thin_link);
  EXPECT_EQ(leaf.faults.thin_link->at, hw_models::ThinLink::At::kLeaf);
  EXPECT_EQ(leaf.faults.thin_link->index, 9);
  EXPECT_EQ(leaf.faults.thin_link->factor, 0.5);
  ASSERT_EQ(leaf.warnings.size(), 1U);
  EXPECT_NE(leaf.warnings.front().find("the uplinks of leaf 9 at 0.5 of the bandwidth"), std::string::npos);
  const Scenario node = load(kScenario, {{"faults.thin_link", "{node: 9, factor: 0.5}"}});
  EXPECT_EQ(node.faults.thin_link->at, hw_models::ThinLink::At::kNode);
  EXPECT_TRUE(load(kScenario, {{"faults.thin_link", "{node: 0, factor: 1}"}}).warnings.empty());
}

TEST(LoadScenarioTest, ASlowGpuIsAWarning) {
  const Scenario scenario = load(kScenario, {{"faults.slow_gpu", "{rank: 511, factor: 0.8}"}});
  ASSERT_EQ(scenario.faults.slow_gpus.size(), 1U);
  EXPECT_EQ(scenario.faults.slow_gpus[0].rank.value, 511);
  EXPECT_EQ(scenario.faults.slow_gpus[0].speed, 0.8);
  ASSERT_EQ(scenario.warnings.size(), 1U);
  EXPECT_NE(scenario.warnings[0].find("rank 511 computes at 0.8"), std::string::npos);
  EXPECT_TRUE(load(kScenario, {{"faults.slow_gpu", "{rank: 0, factor: 1}"}}).warnings.empty());
}

TEST(LoadScenarioTest, FaultsMayBeLists) {
  const Scenario scenario = load(kScenario, {{"faults.slow_gpu", "[{rank: 3, factor: 0.5}, {rank: 1, factor: 0.8}]"},
                                             {"faults.dead_nic", "[{node: 3, nic: 2}, {node: 0, nic: 7}]"}});
  ASSERT_EQ(scenario.faults.slow_gpus.size(), 2U);
  EXPECT_EQ(scenario.faults.slow_gpus[1].rank.value, 1);
  ASSERT_EQ(scenario.faults.dead_nics.size(), 2U);
  EXPECT_EQ(scenario.faults.dead_nics[1].nic, 7);
  ASSERT_EQ(scenario.warnings.size(), 4U);
  EXPECT_NE(scenario.warnings[2].find("NIC 2 of node 3 is dead: GPU 2 uses NIC 3"), std::string::npos);
  EXPECT_NE(scenario.warnings[3].find("NIC 7 of node 0 is dead: GPU 7 uses NIC 4"), std::string::npos);
}

TEST(LoadScenarioTest, PlacementByRuleOrTable) {
  EXPECT_EQ(load(kScenario).placement.rule, "packed");
  EXPECT_EQ(load(kScenario, {{"placement", "rail"}}).placement.rule, "rail");
  const ScratchFolder folder;
  const std::string text =
      "model: llama3-8b\ntraining: {sequence_length: 512, global_batch: 8}\n"
      "cluster: {node: {base: dgx-h100, gpus: 2, nics: 2}, nodes: 2}\nplan: {tensor: 2}\nplacement: seats.csv\n";
  write_text(folder.path("seats.csv"), "rank,host,device,nic\n0,b,1,0\n1,b,0,\n2,a,0,\n3,a,1,\n");
  const strategies::PlacementChoice placement =
      load_scenario_text(text, "scenario.yaml", folder.path(""), Catalog()).placement;
  EXPECT_EQ(placement.rule, "seats.csv");
  EXPECT_EQ(placement.seats, (std::vector<strategies::Seat>{{0, 1, 0}, {0, 0, -1}, {1, 0, -1}, {1, 1, -1}}));
  write_text(folder.path("seats.csv"), "rank,host,device\n0,2,0\n");
  try {
    load_scenario_text(text, "scenario.yaml", folder.path(""), Catalog());
    FAIL() << "was accepted";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("seats.csv:2:3: error: there is no host '2'"), std::string::npos);
  }
}

TEST(LoadScenarioTest, UnevenLayersAreAWarning) {
  const Scenario scenario = load(kScenario, {{"model", "llama3-8b"}, {"vpp", "3"}});
  ASSERT_EQ(scenario.warnings.size(), 1U);
  EXPECT_NE(scenario.warnings[0].find("32 layers do not divide over 12 stages"), std::string::npos);
}

TEST(LoadScenarioTest, UsersWordsWorkAsOverrides) {
  const Scenario scenario =
      load(kScenario, {{"tp", "4"}, {"pp", "2"}, {"mbs", "1"}, {"gbs", "512"}, {"seq-len", "2048"}, {"gpus", "256"}});
  EXPECT_EQ(scenario.plan.tensor, 4);
  EXPECT_EQ(scenario.plan.pipeline, 2);
  EXPECT_EQ(scenario.plan.data, 32);
  EXPECT_EQ(scenario.plan.micro_batch, 1);
  EXPECT_EQ(scenario.training.global_batch, 512);
  EXPECT_EQ(scenario.training.sequence_length, 2048);
  EXPECT_EQ(scenario.cluster.nodes, 32);
  EXPECT_EQ(load(kScenario, {{"cluster.node.nics", "4"}}).cluster.node.nics, 4);
}

TEST(LoadScenarioTest, FindingsNameTheOverride) {
  EXPECT_EQ(
      refusal(kScenario, {{"nodes", "3"}, {"tp", "6"}, {"plan.sequence_parallel", "false"}}),
      "--set plan.tensor=6: error: 'tensor: 6' does not divide the model's 64 attention heads; use 1, 2, 4, 8 or 16\n"
      "--set plan.tensor=6: error: 'tensor: 6' does not divide the model's 28672 MLP columns; use 1, 2, 4, 7 or "
      "8\n");
}

class BadScenarioTest : public testing::TestWithParam<BadScenario> {};

TEST_P(BadScenarioTest, PrintsEveryFindingWithPlaceAndAdvice) {
  try {
    load_scenario_text(GetParam().text, "scenario.yaml", "no-such-folder", Catalog());
    FAIL() << "was accepted";
  } catch (const InputError& problem) {
    EXPECT_STREQ(problem.what(), GetParam().printed);
  }
}

INSTANTIATE_TEST_SUITE_P(All, BadScenarioTest, testing::ValuesIn(bad_scenarios()),
                         [](const auto& bad) { return std::string(bad.param.name); });

TEST(LoadScenarioTest, FilesThatCannotBeRead) {
  const Catalog catalog;
  const auto refused = [&catalog](const std::filesystem::path& path) -> std::string {
    try {
      load_scenario(path, catalog);
      return "accepted";
    } catch (const InputError& problem) {
      return problem.what();
    }
  };
  EXPECT_EQ(refused("no-such.yaml"), "no-such.yaml: error: there is no such file\n");
  EXPECT_EQ(refused("."), ".: error: this is a directory\n");
}

class ModelFileTest : public testing::Test {
 protected:
  // Tests of one fixture may run at the same time.
  ModelFileTest()
      : folder_(std::filesystem::path(testing::TempDir()) /
                (std::string("model_file_test.") + testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(folder_);
  }
  ~ModelFileTest() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

  std::filesystem::path folder_;
};

TEST_F(ModelFileTest, IsRelativeToTheScenario) {
  write("config.json", R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 512,
    "intermediate_size": 1024, "num_hidden_layers": 6, "num_attention_heads": 8, "vocab_size": 1000})");
  write("s.yaml",
        "model: config.json\ntraining: {sequence_length: 8, global_batch: 8}\ncluster: {node: dgx-h100}\n"
        "plan: {}\n");
  const Scenario scenario = load_scenario(folder_ / "s.yaml", Catalog());
  EXPECT_EQ(scenario.model.layers, 6);
  EXPECT_EQ(scenario.model.hidden, 512);
}

TEST_F(ModelFileTest, ItsDefectsAreReportedWithTheScenarios) {
  write("config.json", "{\"model_type\": ");
  write("s.yaml",
        "model: config.json\ntraining: {sequence_length: 8, global_batch: 0}\ncluster: {node: dgx-h100}\n"
        "plan: {}\n");
  try {
    load_scenario(folder_ / "s.yaml", Catalog());
    FAIL() << "was accepted";
  } catch (const InputError& problem) {
    const std::string text = problem.what();
    EXPECT_NE(text.find("'global_batch: 0' is out of range"), std::string::npos) << text;
    EXPECT_NE(text.find("config.json:1:"), std::string::npos) << text;
  }
}

TEST(UsualFabricTest, FollowsTheNodeThenTheNic) {
  const Catalog catalog;
  for (const auto& [node, fabric] : std::vector<std::pair<std::string, std::string>>{{"dgx-a100", "infiniband-hdr"},
                                                                                     {"dgx-h100", "infiniband-ndr"},
                                                                                     {"p4d.24xlarge", "efa-v1"},
                                                                                     {"p5.48xlarge", "efa-v2"},
                                                                                     {"pcie-rtx4090-8", "ethernet-25g"},
                                                                                     {"cpu-box", "none"}}) {
    EXPECT_EQ(usual_fabric(catalog.node(node).value()), fabric) << node;
  }
  for (const std::string& node : catalog.names("nodes")) {  // whatever it is, it exists
    EXPECT_NE(catalog.find("fabrics", usual_fabric(catalog.node(node).value())), nullptr) << node;
  }
}

std::string documentation() {
  std::ifstream stream(std::filesystem::path(TRAINYARD_SOURCE_DIR) / "docs" / "scenario.md");
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

TEST(DocumentationTest, EveryKeyIsDocumentedAndEveryDocumentedKeyIsKnown) {
  std::set<std::string> documented;
  std::istringstream lines(documentation());
  for (std::string line; std::getline(lines, line);) {  // | `plan.tensor` | integer | ...
    if (line.starts_with("| `")) documented.insert(line.substr(3, line.find('`', 3) - 3));
  }
  // Every map is there, so that every reader asks for its keys; the values do not matter.
  const std::string text = R"(model: {biases: {}, latent: {}, experts: {}, attention_window: {}}
training: {input: {}, routing: {}}
cluster: {node: {base: dgx-h100}, gpu: {memory: 80 GiB}, fabric: {routing: {}}, price: {}}
plan: {layers_per_stage: {}}
placement: packed
faults: {slow_gpu: {}, dead_nic: {}, thin_link: {}}
software: {implementation: {low_precision: {fp8-rowwise: {}}}, prices: {}}
execute: {}
)";
  Diagnostics diagnostics("all.yaml", text);
  std::string other_files;
  read_scenario(text, "no-such-folder", Catalog(), {}, diagnostics, other_files);
  const std::set<std::string>& known = diagnostics.known();
  for (const std::string& key : documented) EXPECT_TRUE(known.contains(key)) << "no reader asks for " << key;
  for (const std::string& key : known) EXPECT_TRUE(documented.contains(key)) << "not documented: " << key;
}

TEST(DocumentationTest, ItsExamplesLoad) {
  const std::string text = documentation();
  const std::string begin = "```yaml\n";
  int examples = 0;
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    at += begin.size();
    EXPECT_NO_THROW(load(text.substr(at, text.find("```", at) - at))) << "example " << examples;
    ++examples;
  }
  EXPECT_EQ(examples, 2);
}

TEST(LoadScenario, ExecuteSaysHowToTrain) {
  const Scenario plain = load(kScenario);
  EXPECT_EQ(plain.execute.run.steps, 100);
  EXPECT_EQ(plain.execute.run.learning_rate, 3e-4);
  EXPECT_EQ(plain.training.optimizer, hw_models::OptimizerKind::kAdamW);
  EXPECT_FALSE(plain.execute.data);
  const Scenario scenario =
      load(std::string(kScenario) +
           "execute: {steps: 7, data: text.txt, optimizer: sgd, learning_rate: 0.5, warmup_steps: 2,\n"
           "          weight_decay: 0.1, gradient_clip: 1, seed: 9223372036854775807}\n");
  EXPECT_EQ(scenario.execute.run.steps, 7);
  EXPECT_EQ(scenario.execute.run.learning_rate, 0.5);
  EXPECT_EQ(scenario.execute.run.warmup_steps, 2);
  EXPECT_EQ(scenario.execute.run.weight_decay, 0.1);
  EXPECT_EQ(scenario.execute.run.gradient_clip, 1);
  EXPECT_EQ(scenario.execute.run.seed, 9223372036854775807U);
  EXPECT_EQ(scenario.execute.data, std::filesystem::path("no-such-folder/text.txt")) << "beside the scenario";
  EXPECT_EQ(scenario.training.optimizer, hw_models::OptimizerKind::kSgd);
}

}  // namespace
}  // namespace scenarios
