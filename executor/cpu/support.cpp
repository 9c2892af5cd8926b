#include "executor/cpu/support.h"

#include <array>
#include <string_view>
#include <variant>

#include "executor/corpus.h"
#include "executor/cpu/bindings.h"
#include "executor/cpu/collective_bindings.h"

namespace executor::cpu {
namespace {

using strategies::Operation;

bool is_supported(const Operation& operation) {
  if (std::holds_alternative<strategies::Compute>(operation.work)) return find_binding(operation) != nullptr;
  if (std::holds_alternative<strategies::Collective>(operation.work)) {
    return find_collective_binding(operation) != nullptr;
  }
  return !std::holds_alternative<strategies::Checkpoint>(operation.work);
}

struct Trait {
  std::string_view what;
  bool (*has)(const strategies::ModelSpec& model, const strategies::PlanSpec& plan);
};

using strategies::ModelSpec;
using strategies::PlanSpec;
using strategies::PositionKind;

constexpr std::array<Trait, 12> kUnsupported{{
    {"mixture of experts", [](const ModelSpec& m, const PlanSpec&) { return m.experts.has_value(); }},
    {"latent attention", [](const ModelSpec& m, const PlanSpec&) { return m.latent.has_value(); }},
    {"extra prediction layers", [](const ModelSpec& m, const PlanSpec&) { return m.extra_prediction_layers > 0; }},
    {"parallel attention and MLP", [](const ModelSpec& m, const PlanSpec&) { return m.parallel_block; }},
    {"ALiBi positions", [](const ModelSpec& m, const PlanSpec&) { return m.position == PositionKind::kAlibi; }},
    {"a norm behind the embedding", [](const ModelSpec& m, const PlanSpec&) { return m.embedding_norm; }},
    {"norms of queries and keys",
     [](const ModelSpec& m, const PlanSpec&) { return m.query_key_norm || m.query_key_norm_full; }},
    {"other than two norms a layer", [](const ModelSpec& m, const PlanSpec&) { return m.norms_per_layer != 2; }},
    {"attention sinks", [](const ModelSpec& m, const PlanSpec&) { return m.attention_sinks; }},
    {"a bias of the LM head", [](const ModelSpec& m, const PlanSpec&) { return m.head_bias; }},
    {"fewer key-value heads than tensor ranks",
     [](const ModelSpec& m, const PlanSpec& p) { return m.kv_heads % p.tensor != 0; }},
    {"attention windows over context ranks",
     [](const ModelSpec& m, const PlanSpec& p) { return m.window && p.context > 1; }},
}};

}  // namespace

std::optional<Refusal> refuse_program(const strategies::Program& program) {
  for (const strategies::Role& role : program.roles) {
    for (const strategies::Block& block : role.blocks) {
      for (const Operation& operation : block.operations) {
        if (is_supported(operation)) continue;
        return Refusal{"the cpu backend cannot run '" + program.implementation + "': it has no fp32 kernel for '" +
                           operation.origin.label + "' as that stack computes it",
                       "use software: trainyard-cpu with precision: fp32"};
      }
    }
  }
  return std::nullopt;
}

std::optional<Refusal> refuse_model(const ModelSpec& model, const PlanSpec& plan) {
  for (const Trait& trait : kUnsupported) {
    if (!trait.has(model, plan)) continue;
    return Refusal{"the cpu backend cannot run '" + model.name + "' under this plan: it has " + std::string(trait.what),
                   "choose a model like GPT-2 or Llama"};
  }
  if (model.vocabulary < kByteVocabulary) {
    return Refusal{"the model knows " + std::to_string(model.vocabulary) + " tokens; bytes are 256",
                   "use vocabulary: 256"};
  }
  return std::nullopt;
}

}  // namespace executor::cpu
