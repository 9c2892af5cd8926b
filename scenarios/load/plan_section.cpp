#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "scenarios/load/catalog_fields.h"
#include "scenarios/load/context_exchange_words.h"
#include "scenarios/load/sections.h"

namespace scenarios {
namespace {

constexpr std::int64_t kMostRanks = 1'000'000;
constexpr std::array<std::string_view, 5> kDimensions{"tp", "cp", "ep", "dp", "pp"};

struct LayerSplit {
  std::vector<int> layers;
  bool count_embedding_and_loss = false;
};

/// auto | [20, 20, 20, 20] | {count_embedding_and_loss: true}
LayerSplit read_layer_split(MapReader& reader) {
  constexpr std::int64_t kMostLayers = 10'000;
  LayerSplit split;
  const std::optional<Value> value = reader.value("layers_per_stage");
  if (!value) return split;
  if (value->kind() == Value::Kind::kList) {
    for (const std::int64_t layers :
         reader.integers("layers_per_stage", 0, kMostLayers).value_or(std::vector<std::int64_t>{})) {
      split.layers.push_back(static_cast<int>(layers));
    }
    return split;
  }
  if (value->kind() == Value::Kind::kMap) {
    MapReader options(*value, reader.diagnostics());
    split.count_embedding_and_loss = options.boolean("count_embedding_and_loss").value_or(false);
    options.finish();
    return split;
  }
  if (value->text() != "auto") {
    reader.diagnostics().error(value->place(),
                               fmt::format("'layers_per_stage: {}' is not known", shortened(value->text())),
                               "use auto, a list like [20, 20] or {count_embedding_and_loss: true}");
  }
  return split;
}

/// tp-cp-ep-dp-pp in any order. Dimensions left out have one rank, so their place does not matter: they are appended.
std::string read_rank_order(MapReader& reader) {
  const std::optional<std::string> given = reader.text("rank_order");
  if (!given) return strategies::PlanSpec{}.rank_order;
  std::vector<std::string> words;
  for (std::string_view rest = *given; true;) {
    const std::size_t dash = rest.find('-');
    words.emplace_back(rest.substr(0, dash));
    if (dash == std::string_view::npos) break;
    rest.remove_prefix(dash + 1);
  }
  const bool known = std::ranges::all_of(
      words, [](const std::string& word) { return std::ranges::find(kDimensions, word) != kDimensions.end(); });
  std::vector<std::string> sorted = words;
  std::ranges::sort(sorted);
  const bool repeated = std::ranges::adjacent_find(sorted) != sorted.end();
  const bool dense =
      std::ranges::all_of(std::array<std::string, 3>{"tp", "dp", "pp"},
                          [&words](const std::string& word) { return std::ranges::find(words, word) != words.end(); });
  if (!known || repeated || !dense) {
    reader.diagnostics().error(reader.place("rank_order"),
                               fmt::format("'rank_order: {}' is not an order of dimensions", shortened(*given)),
                               "use each of tp, cp, ep, dp, pp once, the fastest first: tp-cp-ep-dp-pp");
  }
  for (const std::string_view dimension : kDimensions) {
    if (std::ranges::find(words, dimension) == words.end()) words.emplace_back(dimension);
  }
  return fmt::format("{}", fmt::join(words, "-"));
}

int read_degree(MapReader& reader, std::string_view key) {
  return static_cast<int>(reader.integer(key, 1, kMostRanks).value_or(1));
}

/// A number or `auto` (0).
int read_data(MapReader& reader) {
  const std::optional<Value> value = reader.value("data");
  if (!value || (value->kind() == Value::Kind::kScalar && value->text() == "auto")) return 0;
  return read_degree(reader, "data");
}

/// "2 or 4": the divisors of `total` on either side of `wanted`, which is none itself.
std::string divisors_around(std::int64_t total, std::int64_t wanted) {
  std::int64_t below = 1;
  std::int64_t above = 0;
  for (std::int64_t divisor = 1; divisor <= total && above == 0; ++divisor) {
    if (total % divisor != 0) continue;
    (divisor < wanted ? below : above) = divisor;
  }
  return above > 0 ? fmt::format("{} or {}", below, above) : std::to_string(below);
}

std::int64_t divisor_up_to(std::int64_t total, std::int64_t most) {
  std::int64_t divisor = most;
  while (total % divisor != 0) --divisor;
  return divisor;
}

struct Degree {
  std::string key, advice;
};

/// Of a plan whose replica does not divide the cluster's `gpus`: the degree whose change alone mends it or, where
/// there is none, the tensor degree, with advice for all.
Degree degree_to_change(const strategies::PlanSpec& plan, std::int64_t gpus) {
  const std::int64_t tensor = plan.tensor, pipeline = plan.pipeline, context = plan.context;
  if (context > 1 && gpus % (tensor * pipeline) == 0)
    return {"plan.context", "use context " + divisors_around(gpus / (tensor * pipeline), context)};
  if (gpus % (tensor * context) == 0)
    return {"plan.pipeline", "use pipeline " + divisors_around(gpus / (tensor * context), pipeline)};
  if (gpus % (pipeline * context) == 0)
    return {"plan.tensor", "use tensor " + divisors_around(gpus / (pipeline * context), tensor)};
  const std::int64_t fit_tensor = std::gcd(gpus, tensor);  // divides what the given one does: heads, columns
  const std::int64_t fit_pipeline = divisor_up_to(gpus / fit_tensor, pipeline);
  std::string advice = fmt::format("use tensor {} x pipeline {}", fit_tensor, fit_pipeline);
  if (context > 1) advice += fmt::format(" x context {}", divisor_up_to(gpus / fit_tensor / fit_pipeline, context));
  return {"plan.tensor", advice};
}

}  // namespace

std::optional<strategies::PlanSpec> read_plan(const Value& value, Reading& reading) {
  const std::size_t before = error_count(reading.diagnostics);
  if (value.kind() == Value::Kind::kScalar && value.text() == "search") {
    reading.diagnostics.error(value.place(), "'plan: search' is not supported by this version", "write the plan out");
    return std::nullopt;
  }
  constexpr std::int64_t kLargestMicroBatch = 1'000'000;
  constexpr std::int64_t kMostChunks = 1'000;
  constexpr std::int64_t kMostPrefetched = 1'000;
  const std::vector<std::pair<std::string, strategies::Recompute>> recomputes{
      {"none", strategies::Recompute::kNone},
      {"selective", strategies::Recompute::kSelective},
      {"up-projection", strategies::Recompute::kUpProjection},
      {"full", strategies::Recompute::kFull}};
  MapReader reader(value, reading.diagnostics);
  strategies::PlanSpec plan;
  plan.tensor = read_degree(reader, "tensor");
  plan.pipeline = read_degree(reader, "pipeline");
  plan.data = read_data(reader);
  plan.context = read_degree(reader, "context");
  plan.context_exchange = reader.one_of("context_exchange", kContextExchangeWords);
  plan.expert = read_degree(reader, "expert");
  plan.expert_tensor = static_cast<int>(reader.integer("expert_tensor", 1, kMostRanks).value_or(0));
  plan.micro_batch = reader.integer("micro_batch", 1, kLargestMicroBatch).value_or(1);
  plan.chunks = static_cast<int>(reader.integer("chunks", 1, kMostChunks).value_or(1));
  plan.schedule = reader.text("schedule").value_or(plan.chunks > 1 ? "interleaved" : "1f1b");
  const LayerSplit split = read_layer_split(reader);
  plan.layers_per_stage = split.layers;
  plan.count_embedding_and_loss = split.count_embedding_and_loss;
  plan.sequence_parallel = reader.boolean("sequence_parallel").value_or(false);
  plan.recompute = reader.one_of("recompute", recomputes).value_or(plan.recompute);
  plan.zero = static_cast<int>(reader.integer("zero", 0, 3).value_or(0));
  plan.shard = static_cast<int>(reader.integer("shard", 1, kMostRanks).value_or(0));
  plan.prefetch = static_cast<int>(reader.integer("prefetch", 0, kMostPrefetched).value_or(plan.prefetch));
  plan.reshard_after_forward = reader.boolean("reshard_after_forward");
  plan.reduce_each_microbatch = reader.boolean("reduce_each_microbatch");
  plan.rank_order = read_rank_order(reader);
  reader.finish();
  return error_count(reading.diagnostics) == before ? std::optional(plan) : std::nullopt;
}

void complete_plan(const Value& root, const hw_models::ClusterSpec& cluster, strategies::PlanSpec& plan,
                   Diagnostics& diagnostics) {
  const std::int64_t gpus = cluster.gpus();
  const std::string per_replica = fmt::format("tensor {} x pipeline {}{}", plan.tensor, plan.pipeline,
                                              plan.context > 1 ? fmt::format(" x context {}", plan.context) : "");
  // Degrees are at most 10^6 each: the product of three needs care, doubles hold it well enough to compare.
  const double replica_size = 1.0 * plan.tensor * plan.pipeline * plan.context;
  if (replica_size > static_cast<double>(gpus)) {
    const bool tensor = plan.tensor > gpus;
    diagnostics.error(place_of(root, tensor ? "plan.tensor" : "plan.pipeline"),
                      fmt::format("{} needs {:.0f} GPUs, but the cluster has {}", per_replica, replica_size, gpus),
                      tensor            ? fmt::format("use at most {}", gpus)
                      : cluster.mixed() ? "use a smaller plan or more nodes"
                                        : fmt::format("use a smaller plan or at least {:.0f} nodes",
                                                      std::ceil(replica_size / cluster.node.gpus)));
    return;
  }
  const std::int64_t replica = std::int64_t{plan.tensor} * plan.pipeline * plan.context;
  if (gpus % replica != 0) {
    const Degree wrong = degree_to_change(plan, gpus);
    diagnostics.error(place_of(root, wrong.key),
                      fmt::format("{} = {} does not divide the cluster's {} GPUs", per_replica, replica, gpus),
                      wrong.advice);
    return;
  }
  if (plan.data == 0) plan.data = static_cast<int>(gpus / replica);
  if (plan.data * replica == gpus) return;
  const std::int64_t ranks = plan.data * replica;
  std::string advice = fmt::format("use data {}", gpus / replica);
  if (!cluster.mixed() && ranks % cluster.node.gpus == 0)
    advice += fmt::format(" or {} nodes", ranks / cluster.node.gpus);
  diagnostics.error(
      place_of(root, "plan.data"),
      fmt::format("{} x data {} = {} ranks, but the cluster has {} GPUs", per_replica, plan.data, ranks, gpus), advice);
}

}  // namespace scenarios
