#include "scenarios/accuracy/run_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <stdexcept>

#include "hw_models/cluster_check.h"
#include "scenarios/accuracy/usual_node.h"
#include "scenarios/load/diagnostics.h"
#include "scenarios/load/model_limits.h"
#include "scenarios/load/sections.h"
#include "scenarios/number_format.h"
#include "strategies/build_program.h"

namespace scenarios {
namespace {

using hw_models::DType;

struct Named {
  std::string_view from, to;
};

/// What the runs call their software -> stack of the catalogue.
constexpr std::array<Named, 20> kSoftware{{{"nanotron", "nanotron"},
                                           {"megatron-lm", "megatron-lm-2022"},
                                           {"megatron", "megatron-lm-2022"},
                                           {"zero-bubble-megatron", "megatron-lm-2022"},
                                           {"megatron-deepspeed", "megatron-deepspeed"},
                                           {"deepspeed", "deepspeed"},
                                           {"deepspeed-0.11.1", "deepspeed"},
                                           {"deepspeed-zero3", "deepspeed"},
                                           {"megatron-core", "megatron-core"},
                                           {"megatron-lm-core_v0.6.0", "megatron-core"},
                                           {"flagscale(megatron)", "megatron-core"},
                                           {"megascale", "megatron-core"},
                                           {"nemo", "nemo"},
                                           {"nemo/megatron-bridge", "nemo"},
                                           {"llm-foundry-fsdp", "llm-foundry"},
                                           {"torchtitan", "torchtitan"},
                                           {"fms-fsdp", "fms-fsdp"},
                                           {"internevo", "internevo"},
                                           {"paddlenlp", "paddlenlp"},
                                           {"torch-ddp/fsdp", "torch"}}};

/// Words in the description of a network -> kind of fabric; its rate completes the name.
constexpr std::array<Named, 3> kFabrics{{{"IB", "infiniband"}, {"RDMA", "roce"}, {"RoCE", "roce"}}};

template <std::size_t N>
std::optional<std::string> lookup(const std::array<Named, N>& table, std::string_view word) {
  const auto found = std::ranges::find(table, word, &Named::from);
  if (found == table.end()) return std::nullopt;
  return std::string(found->to);
}

/// Development versions of Megatron-LM are built on Megatron-Core. BigScience published its fork of Megatron-DeepSpeed
/// and how it was launched.
std::optional<std::string> stack_of(const MeasuredRun& run) {
  const bool core =
      run.software == "megatron-lm" && (run.software_date.starts_with("dev ") || run.software_date.starts_with("lts "));
  if (run.software == "nanotron" && run.flags.find("before-pp-fix") != std::string::npos) {
    return "nanotron-before-pp-fix";
  }
  if (run.software == "megatron-deepspeed" && run.source.starts_with("bigscience-workshop/")) {
    return "megatron-deepspeed-bigscience";
  }
  // Its own schedules have a runtime of their own.
  if (run.software == "zero-bubble-megatron" && run.schedule.starts_with("zb-")) return "zero-bubble";
  if (run.software == "torchtitan" && !run.compiled.value_or(true)) return "torchtitan-eager";
  if (run.software.starts_with("deepspeed") && run.zero == 3) return "deepspeed-zero3";
  const bool early = run.software_date.starts_with("2020") || run.software_date.starts_with("2021");
  if (run.software == "megatron-lm" && early) return "megatron-lm";
  return core ? std::optional<std::string>("megatron-core") : lookup(kSoftware, run.software);
}

/// A word of another table than ours must not pass for the word that happens to come last in a choice.
std::optional<std::string> unknown_word(const MeasuredRun& run) {
  struct Cell {
    const char* column;
    const std::string& word;
    std::initializer_list<std::string_view> known;
  };
  for (const Cell& cell :
       {Cell{"mlp", run.mlp, {"swiglu", "gelu", "squared-relu"}},
        Cell{"position", run.position, {"rope", "learned", "alibi"}}, Cell{"norm", run.norm, {"rmsnorm", "layernorm"}},
        Cell{"schedule", run.schedule, {"", "1f1b", "interleaved", "zb-h1", "zb-1p", "zb-2p", "zb-v"}},
        Cell{"recompute", run.recompute, {"", "none", "selective", "full"}}}) {
    if (std::ranges::find(cell.known, cell.word) != cell.known.end()) continue;
    return cell.word.empty() ? fmt::format("{} unknown", cell.column)
                             : fmt::format("{} {}", cell.column, shortened(cell.word));
  }
  return std::nullopt;
}

/// Sizes that no run had; larger ones would not fit the types they are computed in.
bool sizes_are_believable(const MeasuredRun& run) {
  constexpr std::int64_t kMostRanks = 1'000'000, kMostChunks = 1'000, kLargestBatch = 100'000'000;
  constexpr std::int64_t kLongestSequence = 16'777'216, kLargestMicroBatch = 1'000'000;
  struct Size {
    std::int64_t value, most;
  };
  return std::ranges::all_of(std::initializer_list<Size>{{run.layers, kMostLayers},
                                                         {run.hidden, kWidest},
                                                         {run.heads, kMostHeads},
                                                         {run.kv_heads, kMostHeads},
                                                         {run.head_dim, kWidest},
                                                         {run.ffn, kWidestMlp},
                                                         {run.vocabulary, kLargestVocabulary},
                                                         {run.sequence_length, kLongestSequence},
                                                         {run.gpus, kMostRanks},
                                                         {run.gpus_per_node, kMostRanks},
                                                         {run.data, kMostRanks},
                                                         {run.tensor, kMostRanks},
                                                         {run.pipeline, kMostRanks},
                                                         {run.context, kMostRanks},
                                                         {run.expert, kMostRanks},
                                                         {run.expert_tensor, kMostRanks},
                                                         {run.experts, kMostExperts},
                                                         {run.experts_per_token, kMostExperts},
                                                         {run.expert_ffn, kWidestMlp},
                                                         {run.dense_layers, kMostLayers},
                                                         {run.chunks, kMostChunks},
                                                         {*run.micro_batch, kLargestMicroBatch},
                                                         {run.global_batch, kLargestBatch}},
                             [](const Size& size) { return size.value <= size.most; });
}

/// The tables write fp8-cs for current scaling (Megatron-Bridge), which is tensorwise.
std::optional<NumberFormat> format_of(std::string_view word) {
  if (word == "bf16") return NumberFormat{DType::kBf16};
  if (word == "fp16") return NumberFormat{DType::kFp16};
  if (word == "fp8") return NumberFormat{DType::kFp8};
  if (word == "fp8-cs") word = "fp8-tensorwise";
  const auto recipe = std::ranges::find(strategies::kScalingRecipes, word, &strategies::ScalingRecipe::name);
  if (recipe == strategies::kScalingRecipes.end()) return std::nullopt;
  return NumberFormat{recipe->format, recipe->scaling};
}

/// Everything about the run alone that this version does not model.
std::optional<std::string> unsupported(const MeasuredRun& run) {
  if (run.experts > 0 && (run.experts_per_token == 0 || run.expert_ffn == 0)) return "sizes of experts unknown";
  if (!run.zero) return "sharding unknown";
  if (*run.zero > 3) return fmt::format("ZeRO {}", *run.zero);
  if (!format_of(run.precision)) return "precision " + shortened(run.precision);
  if (const auto word = unknown_word(run)) return word;
  if (!run.offload.empty() && run.offload != "none") return "offload";
  if (run.micro_batch.value_or(0) == 0 || run.global_batch == 0) return "micro-batch unknown";
  if (run.gpus == 0 || run.data == 0) return "GPU count unknown";
  if (run.chunks == 0 || !sizes_are_believable(run)) return "sizes out of range";
  return std::nullopt;
}

/// Runs that drop tokens pad every expert to its even share (Megatron-Bridge's recipes: a capacity factor of 1).
strategies::ExpertSpec experts_of(const MeasuredRun& run) {
  strategies::ExpertSpec experts;
  experts.experts = static_cast<int>(run.experts);
  experts.per_token = static_cast<int>(run.experts_per_token);
  experts.ffn = run.expert_ffn;
  experts.shared_ffn = static_cast<std::int64_t>(run.shared_experts * static_cast<double>(run.expert_ffn));
  experts.leading_dense_layers = static_cast<int>(run.dense_layers);
  if (run.flags.find("tokendrop") != std::string::npos) experts.capacity_factor = 1;
  return experts;
}

strategies::ModelSpec model_of(const MeasuredRun& run) {
  strategies::ModelSpec model;
  model.name = run.model_name;
  model.layers = static_cast<int>(std::min<std::int64_t>(run.layers, 100'000));
  model.hidden = run.hidden;
  model.heads = run.heads;
  model.kv_heads = run.kv_heads;
  model.head_dim = run.head_dim;
  model.ffn = run.ffn;
  model.gated_mlp = run.mlp == "swiglu";
  model.activation = run.mlp == "swiglu"         ? strategies::Activation::kSilu
                     : run.mlp == "squared-relu" ? strategies::Activation::kSquaredRelu
                                                 : strategies::Activation::kGelu;
  model.vocabulary = run.vocabulary;
  model.tied_embeddings = run.tied_embeddings;
  model.position = run.position == "learned" ? strategies::PositionKind::kLearned
                   : run.position == "alibi" ? strategies::PositionKind::kAlibi
                                             : strategies::PositionKind::kRotary;
  model.max_positions = run.sequence_length;
  model.norm = run.norm == "layernorm" ? hw_models::NormKind::kLayerNorm : hw_models::NormKind::kRmsNorm;
  // GPT-like models with LayerNorm and a plain MLP carry biases everywhere; gated models with RMSNorm none.
  const bool biased = run.norm == "layernorm" && run.mlp == "gelu";
  model.qkv_bias = model.attention_output_bias = model.mlp_bias = biased;
  if (run.experts > 0) model.experts = experts_of(run);
  return model;
}

/// Tables say of latent attention and windows at most that they are there: the sizes are those of the catalogue's model
/// of that name. False when it does not know them.
bool set_attention(const MeasuredRun& run, const Catalog& catalog, strategies::ModelSpec& model) {
  const auto known = catalog.model(run.model_name);
  if (known) model.window = known->window;
  if (!run.latent) return true;
  if (!known || !known->latent || known->heads != model.heads) return false;
  model.latent = known->latent;
  model.head_dim = known->head_dim;
  model.kv_heads = model.heads;
  return true;
}

/// FSDP's words: shard-grad-op, which others call ZeRO 2, keeps whole weights from the forward to the backward pass;
/// hsdp shards inside a node.
void set_sharding(const MeasuredRun& run, strategies::PlanSpec& plan) {
  plan.zero = static_cast<int>(*run.zero);
  if (run.sharding == "shard-grad-op") {
    plan.zero = 3;
    plan.reshard_after_forward = false;
  } else if (run.sharding == "hsdp" && run.gpus_per_node > run.tensor) {
    plan.zero = 3;
    plan.shard = static_cast<int>(std::min(run.data, run.gpus_per_node / run.tensor));
  }
}

/// Experts are split as other matrices are where nothing else is said, unless the stage has not enough ranks for that.
int expert_tensor_of(const MeasuredRun& run) {
  if (run.experts == 0) return 0;
  if (run.expert_tensor > 0) return static_cast<int>(run.expert_tensor);
  const std::int64_t ranks = run.tensor * run.context * run.data;
  return ranks % (run.tensor * run.expert) == 0 ? static_cast<int>(run.tensor) : 1;
}

strategies::PlanSpec plan_of(const MeasuredRun& run) {
  strategies::PlanSpec plan;
  plan.tensor = static_cast<int>(run.tensor);
  plan.pipeline = static_cast<int>(run.pipeline);
  plan.data = static_cast<int>(run.data);
  plan.context = static_cast<int>(run.context);
  plan.expert = static_cast<int>(run.expert);
  plan.expert_tensor = expert_tensor_of(run);
  plan.micro_batch = *run.micro_batch;
  plan.chunks = static_cast<int>(run.chunks);
  plan.schedule = run.schedule.starts_with("zb-") ? run.schedule : run.chunks > 1 ? "interleaved" : "1f1b";
  plan.sequence_parallel = run.sequence_parallel.value_or(false) && run.tensor > 1;
  plan.recompute = run.recompute == "full"        ? strategies::Recompute::kFull
                   : run.recompute == "selective" ? strategies::Recompute::kSelective
                                                  : strategies::Recompute::kNone;
  set_sharding(run, plan);
  const bool ends_counted = run.flags.find("first and last stage hold one layer fewer") != std::string::npos;
  plan.count_embedding_and_loss = run.pipeline > 1 && (ends_counted || run.layers % (run.pipeline * run.chunks) != 0) &&
                                  (run.layers + 2) % (run.pipeline * run.chunks) == 0;
  return plan;
}

struct NetworkRate {
  int nics = 0;               ///< 0 = not said
  double gigabits_per_s = 0;  ///< of one NIC, or of the whole node
  bool of_the_whole_node = false;
};

/// The number that ends before `end`; 0 without one.
double number_before(std::string_view text, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
  double number = 0;
  std::from_chars(text.data() + begin, text.data() + end, number);
  return number;
}

/// "8x200Gb/s IB": 8 NICs of 200; "IB 200Gb/s": NICs of 200; "total 800Gb/s per node". nullopt without a rate.
std::optional<NetworkRate> network_rate(const std::string& text) {
  const std::size_t unit = text.find("Gb/s");
  if (unit == std::string::npos) return std::nullopt;
  NetworkRate rate;
  rate.gigabits_per_s = number_before(text, unit);
  const std::size_t times = text.find_last_not_of("0123456789", unit == 0 ? 0 : unit - 1);
  constexpr double kMostNics = 100;
  if (times != std::string::npos && text[times] == 'x') {
    rate.nics = static_cast<int>(std::min(number_before(text, times), kMostNics));
  }
  rate.of_the_whole_node = rate.nics == 0 && text.find("per node") != std::string::npos;
  if (rate.gigabits_per_s <= 0 || rate.gigabits_per_s > 1e6) return std::nullopt;
  return rate;
}

/// Sets NICs and fabric; false when the run does not say and the node's own are taken.
bool set_network(const MeasuredRun& run, const Catalog& catalog, hw_models::ClusterSpec& cluster) {
  hw_models::NodeSpec& node = cluster.node;
  const std::optional<NetworkRate> rate = network_rate(run.inter_node);
  std::string name = usual_fabric(node);
  if (rate) {
    if (rate->nics > 0) node.nics = rate->nics;
    const double shared_by = rate->of_the_whole_node ? std::max(node.nics, 1) : 1;
    node.nic_bandwidth = hw_models::BytesPerSecond(rate->gigabits_per_s * 1e9 / 8 / shared_by);
    for (const Named& kind : kFabrics) {
      if (run.inter_node.find(kind.from) == std::string::npos) continue;
      const bool slow = node.nic_bandwidth.value() < 20e9, middle = node.nic_bandwidth.value() < 40e9;
      name = kind.to == "roce" ? (slow     ? "roce-100g"
                                  : middle ? "roce-200g"
                                           : "roce-400g")
                               : (slow     ? "infiniband-edr"
                                  : middle ? "infiniband-hdr"
                                           : "infiniband-ndr");
    }
    if (run.inter_node.find("OPA") != std::string::npos) name = "opa-100";
  }
  if (const auto fabric = catalog.fabric(name)) cluster.fabric = *fabric;
  return rate.has_value();
}

/// A machine whose owners published its kernels' rates has a GPU of its own in the catalogue.
std::string gpu_of(const MeasuredRun& run) {
  const bool profiled = run.gpu == "b200-sxm" && run.source.starts_with("MooreThreads/SimuMax");
  return profiled ? "b200-sxm-simumax" : run.gpu;
}

/// The node that the stack's runs were made on where the run says nothing of its network, else the usual one of the
/// GPU.
std::optional<hw_models::NodeSpec> node_of(const MeasuredRun& run, const SoftwareStack& stack, const Catalog& catalog) {
  if (!stack.usual_node.empty() && run.inter_node == "unknown") {
    auto node = catalog.node(stack.usual_node);
    if (node && node->gpu == run.gpu) return node;
  }
  const std::optional<std::string> name = usual_node(run.gpu);
  return name ? catalog.node(*name) : std::nullopt;
}

std::optional<hw_models::ClusterSpec> cluster_of(const MeasuredRun& run, const SoftwareStack& stack,
                                                 const Catalog& catalog, bool& known_network) {
  const std::optional<hw_models::NodeSpec> node = node_of(run, stack, catalog);
  if (!node) return std::nullopt;
  hw_models::ClusterSpec cluster;
  cluster.node = *node;
  cluster.node.gpu = gpu_of(run);
  // Fewer GPUs than a node has: the rest of the node is idle.
  if (run.gpus < cluster.node.gpus) {
    cluster.node.gpus = static_cast<int>(run.gpus);
    cluster.node.scale_up_domain = std::min(cluster.node.scale_up_domain, cluster.node.gpus);
    std::erase_if(cluster.node.links,
                  [&](const hw_models::PairLink& link) { return std::max(link.a, link.b) >= cluster.node.gpus; });
  } else if (run.gpus_per_node > 0 && run.gpus_per_node != cluster.node.gpus) {
    // A rack-wide NVLink domain is one node of the catalogue; anything else is another machine than ours.
    if (cluster.node.scale_up_domain <= run.gpus_per_node) cluster.node.gpus = static_cast<int>(run.gpus_per_node);
  }
  // A job over several racks gets as many GPUs of each (Slurm's segments), so that its groups do not straddle them.
  const std::int64_t domain = cluster.node.scale_up_domain, racks = (run.gpus + domain - 1) / domain;
  if (racks > 1 && domain > cluster.node.gpus && run.gpus % (racks * cluster.node.gpus) == 0) {
    cluster.node.scale_up_domain = static_cast<int>(run.gpus / racks);
  }
  cluster.nodes = static_cast<int>((run.gpus + cluster.node.gpus - 1) / cluster.node.gpus);
  const bool one_domain = cluster.nodes == 1 || (cluster.node.scale_up == hw_models::ScaleUpKind::kSwitch &&
                                                 run.gpus <= cluster.node.scale_up_domain);
  known_network = set_network(run, catalog, cluster) || one_domain;  // nothing leaves the domain
  return cluster;
}

/// "node.nics" when the nodes of the run cannot form a cluster.
std::optional<std::string> cluster_defect(const hw_models::ClusterSpec& cluster) {
  try {
    hw_models::check(cluster);
    return std::nullopt;
  } catch (const std::invalid_argument& problem) {  // "node.nics: what is wrong"
    const std::string_view text = problem.what();
    return std::string(text.substr(0, text.find(": ")));
  }
}

}  // namespace

std::variant<RunScenario, Skipped> scenario_of(const MeasuredRun& run, const Catalog& catalog) {
  if (const auto reason = unsupported(run)) return Skipped{*reason};
  RunScenario result;
  Scenario& scenario = result.scenario;
  scenario.name = run.id;
  const std::optional<std::string> stack = stack_of(run);
  result.usual_software = !stack;
  scenario.software = catalog.software(stack.value_or("generic")).value();
  bool known_network = true;
  const auto cluster = cluster_of(run, scenario.software, catalog, known_network);
  const auto gpu = catalog.gpu(gpu_of(run));
  if (!cluster || !gpu) return Skipped{"GPU not in the catalogue"};
  if (const auto defect = cluster_defect(*cluster)) return Skipped{"cluster: " + *defect};
  scenario.cluster = *cluster;
  scenario.gpu = *gpu;
  result.usual_network = !known_network;
  auto& implementation = scenario.software.implementation;
  const bool flash = implementation.attention != hw_models::AttentionKernel::kUnfused;
  if (run.flash_attention && *run.flash_attention != flash) {
    implementation.attention =
        *run.flash_attention ? hw_models::AttentionKernel::kFlash2 : hw_models::AttentionKernel::kUnfused;
  }
  // Runs say when they train with dropout; its masks are kept.
  const std::size_t dropout = run.flags.find("dropout=");
  if (dropout != std::string::npos) implementation.dropout = !run.flags.substr(dropout + 8).starts_with("0.0");
  // What the pipeline's exchange made the host wait for before its fix does not concern runs without a pipeline.
  if (run.software == "nanotron" && run.pipeline == 1) scenario.software.prices.defers_frees = true;
  // Megatron-Core's tests say in their names when they have grouped kernels, which are off by default.
  if (run.experts > 0 && run.flags.find("test=") != std::string::npos) {
    implementation.grouped_experts = run.flags.find("groupedGEMM") != std::string::npos;
  }
  // LLM Foundry's tables say in which format gradients are reduced.
  if (run.flags.find("mp_mode=PURE") != std::string::npos) implementation.gradient = DType::kBf16;
  // torchtitan's asynchronous tensor parallelism.
  if (run.software == "torchtitan" && run.overlap_tensor) implementation.overlap_weight_gradient = *run.overlap_tensor;
  if (run.overlap_data) implementation.overlap_gradient_reduce = *run.overlap_data;
  scenario.model = model_of(run);
  if (!set_attention(run, catalog, scenario.model)) return Skipped{"latent attention"};
  // Its schedules refuse tied tables (--untie-embeddings-and-output-weights is asserted), which would join the ends.
  if (stack == "zero-bubble") scenario.model.tied_embeddings = false;
  scenario.training.sequence_length = run.sequence_length;
  scenario.training.global_batch = run.global_batch;
  const NumberFormat format = format_of(run.precision).value();
  scenario.training.precision = format.dtype;
  scenario.training.scaling = format.scaling;
  if (format_defect(scenario.training, *gpu, implementation)) return Skipped{"precision " + shortened(run.precision)};
  implementation = on_gpu(implementation, *gpu);
  scenario.plan = plan_of(run);
  result.recompute_unknown = run.recompute.empty();
  result.overlap_unstated = !run.overlap_data && run.data * run.context > 1;
  if (scenario.plan.ranks() != run.gpus) return Skipped{"layout does not multiply to the GPUs"};
  for (const strategies::ModelDefect& defect : strategies::check_model(scenario.model)) {
    return Skipped{"model: " + defect.field};
  }
  for (const strategies::PlanFinding& finding :
       strategies::check_plan(scenario.model, scenario.training, scenario.plan, implementation)) {
    if (!finding.warning) return Skipped{"plan: " + finding.path};
  }
  return result;
}

}  // namespace scenarios
