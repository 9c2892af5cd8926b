#include "scenarios/predict/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "strategies/transformer/context_tiles.h"
#include "strategies/transformer/shapes.h"

namespace scenarios {
namespace {

using sim::TimeKind;

/// `open`: the plan does not do it yet; nullptr = always possible.
struct Remedy {
  std::string_view text;
  bool (*open)(const Scenario& scenario) = nullptr;
};

struct Loss {
  TimeKind kind;
  std::string_view what;
  std::vector<Remedy> remedies;
};

bool replicated(const Scenario& s) { return s.plan.data > 1 && s.plan.zero == 0; }
bool several_nodes(const Scenario& s) { return s.cluster.nodes > 1; }
bool tensor_leaves_domain(const Scenario& s) {
  return s.plan.tensor > hw_models::least_of_nodes(s.cluster, &hw_models::NodeSpec::scale_up_domain);
}
bool no_sequence_parallelism(const Scenario& s) { return s.plan.tensor > 1 && !s.plan.sequence_parallel; }
bool not_interleaved(const Scenario& s) { return s.plan.chunks == 1; }
bool interleaved(const Scenario& s) { return s.plan.chunks > 1; }
bool recomputes_less_than_all(const Scenario& s) { return s.plan.recompute != strategies::Recompute::kFull; }
bool splits_batch(const Scenario& s) { return s.plan.micro_batch > 1; }
bool context_outside_domain(const Scenario& s) {
  return s.plan.tensor * s.plan.context > s.cluster.node.scale_up_domain;
}
bool exchanges_all_at_once(const Scenario& s) {
  return s.plan.context_exchange.value_or(s.software.implementation.context_exchange) !=
         strategies::ContextExchange::kRing;
}
bool unbalanced_context(const Scenario& s) {
  return strategies::context_ranks_differ(s.plan, s.software.implementation);
}
bool experts_leave_domain(const Scenario& s) {
  return s.plan.tensor_of_experts() * s.plan.expert > s.cluster.node.scale_up_domain;
}
bool uneven_experts(const Scenario& s) { return !strategies::expert_loads(s.model, s.training, s.plan).even(); }
/// One sequence is a microbatch, so that only its tokens are left to divide.
bool long_sequences(const Scenario& s) { return s.plan.micro_batch == 1 && s.training.sequence_length > 8192; }
bool has_tensor(const Scenario& s) { return s.plan.tensor > 1; }

const std::vector<Loss>& losses() {
  static const std::vector<Loss> kLosses{
      {TimeKind::kCompute,
       "the GPUs compute most of the time",
       {{"faster GPUs"}, {"more GPUs"}, {"a narrower number format"}}},
      {TimeKind::kRecompute,
       "activations are computed twice",
       {{"zero: 1 and less recompute", replicated}, {"more pipeline or tensor ranks and less recompute"}}},
      {TimeKind::kOptimizer, "the update shows", {{"zero: 1", replicated}, {"a larger global_batch"}}},
      {TimeKind::kHost,
       "the host issues kernels too slowly",
       {{"a larger micro_batch"}, {"fewer tensor ranks", has_tensor}, {"CUDA graphs"}}},
      {TimeKind::kExposedTensor,
       "exchange between tensor ranks shows",
       {{"tensor groups inside one NVLink domain", tensor_leaves_domain},
        {"sequence_parallel: true", no_sequence_parallelism},
        {"fewer tensor and more pipeline ranks"}}},
      {TimeKind::kExposedData,
       "gradient synchronisation shows",
       {{"a faster network between the nodes", several_nodes}, {"a larger global_batch"}, {"fewer data replicas"}}},
      {TimeKind::kExposedPipeline,
       "stages wait for messages in flight",
       {{"a faster link between neighbouring stages"}, {"fewer stages"}}},
      {TimeKind::kExposedContext,
       "context exchange shows",
       {{"context groups inside one NVLink domain", context_outside_domain},
        {"context_exchange: ring", exchanges_all_at_once},
        {"fewer context ranks"}}},
      {TimeKind::kExposedExpert,
       "expert exchange shows",
       {{"expert groups inside one NVLink domain", experts_leave_domain}, {"fewer expert ranks"}}},
      {TimeKind::kBubble,
       "stages idle while the pipeline fills and drains",
       {{"more microbatches per replica"},
        {"schedule: interleaved", not_interleaved},
        {"more chunks", interleaved},
        {"fewer stages"}}},
      {TimeKind::kImbalance,
       "ranks differ in work",
       {{"balanced_context: true", unbalanced_context},
        {"a router that balances its experts, or experts.capacity_factor", uneven_experts},
        {"another split of the layers (layers_per_stage)"}}},
      {TimeKind::kStraggler, "one slow rank holds up the rest", {{"replace it"}}},
      {TimeKind::kDataStall, "the input pipeline cannot feed the GPUs", {{"raise training.input.samples_per_s"}}},
      {TimeKind::kOther, "time is lost to something unnamed", {{"look at the timeline (--trace)"}}},
  };
  return kLosses;
}

/// "a, b or c" of the remedies that are open.
std::string listed(const std::vector<Remedy>& remedies, const Scenario& scenario) {
  std::vector<std::string_view> open;
  for (const Remedy& remedy : remedies) {
    if (remedy.open == nullptr || remedy.open(scenario)) open.push_back(remedy.text);
  }
  if (open.size() < 2) return open.empty() ? "" : std::string(open.front());
  const std::string last(open.back());
  open.pop_back();
  return fmt::format("{} or {}", fmt::join(open, ", "), last);
}

}  // namespace

std::string advice_against(TimeKind kind, const Scenario& scenario) {
  const auto loss = std::ranges::find(losses(), kind, &Loss::kind);
  return fmt::format("{}: {}", loss->what, listed(loss->remedies, scenario));
}

std::string advice_against_memory(const Scenario& scenario) {
  return listed({{"more tensor or pipeline ranks"},
                 {"more context ranks", long_sequences},
                 {"zero: 1", replicated},
                 {"more recompute", recomputes_less_than_all},
                 {"sequence_parallel: true", no_sequence_parallelism},
                 {"a smaller micro_batch", splits_batch}},
                scenario);
}

}  // namespace scenarios
