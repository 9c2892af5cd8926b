#include "strategies/check_context.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "strategies/plan_advice.h"

namespace strategies {
namespace {

std::string quoted(const char* key, std::int64_t value) { return "'" + std::string(key) + std::to_string(value) + "'"; }

/// Every rank holds two pieces of a sequence, or one, and tensor ranks divide what it holds.
void check_sequence(const TrainingSpec& training, const PlanSpec& plan, bool balanced,
                    std::vector<PlanFinding>& findings) {
  const std::int64_t pieces = balanced ? 2 : 1;
  const std::int64_t own = std::lcm(pieces, plan.sequence_parallel ? std::int64_t{plan.tensor} : 1);
  const std::int64_t unit = own * plan.context, length = training.sequence_length;
  if (length % unit == 0) return;
  std::string rule = "sequence_length must be a multiple of ";
  if (balanced) rule += "2 x ";
  rule += "context";
  if (plan.sequence_parallel && plan.tensor > 1) rule += balanced ? " and of context x tensor" : " x tensor";
  std::vector<std::int64_t> lengths;
  if (length > unit) lengths.push_back(length / unit * unit);
  lengths.push_back((length / unit + 1) * unit);
  std::string advice = "'sequence_length: " + listed(lengths) + "'";
  if (length % own == 0) advice = "'context: " + listed(divisors_near(length / own, plan.context)) + "', or " + advice;
  findings.push_back({"plan.context",
                      quoted("context: ", plan.context) + " does not divide " + std::to_string(length) +
                          " tokens into equal parts: " + rule + ", here of " + std::to_string(unit),
                      "use " + advice, false});
}

void check_heads(const ModelSpec& model, const PlanSpec& plan, std::vector<PlanFinding>& findings) {
  if (model.heads % plan.tensor != 0) return;  // said already
  const std::int64_t heads = model.heads / plan.tensor;
  const std::int64_t kv_heads = std::max<std::int64_t>(1, model.kv_heads / plan.tensor);
  const std::int64_t common = std::gcd(heads, kv_heads);
  if (common % plan.context == 0) return;
  findings.push_back({"plan.context",
                      "the all-to-all exchange deals a tensor rank's " + std::to_string(heads) + " heads and " +
                          std::to_string(kv_heads) + " key-value heads out to the context ranks: " +
                          quoted("context: ", plan.context) + " must divide both",
                      "use 'context: " + listed(divisors_near(common, plan.context)) +
                          "', or 'context_exchange: ring' or 'all-gather'",
                      false});
}

void check_attention(const ModelSpec& model, const TrainingSpec& training, const PlanSpec& plan,
                     ContextExchange exchange, std::vector<PlanFinding>& findings) {
  // Transformer Engine refuses sliding windows with cp_comm_type p2p.
  const bool windows = model.window && model.window->tokens < training.sequence_length;
  if (windows && exchange == ContextExchange::kRing) {
    findings.push_back({"plan.context_exchange",
                        "'" + model.name + "' has attention windows of " + std::to_string(model.window->tokens) +
                            " tokens, which the ring does not know",
                        "use 'context_exchange: all-gather'", false});
  }
  // The ring and the all-to-all leave something else in the buffer of queries, keys and values than was computed.
  if (plan.recompute == Recompute::kUpProjection && exchange != ContextExchange::kAllGather) {
    findings.push_back({"plan.recompute", "'recompute: up-projection' is not supported with this exchange",
                        "use 'context_exchange: all-gather' or 'recompute: full'", false});
  }
}

}  // namespace

void check_context(const ModelSpec& model, const TrainingSpec& training, const PlanSpec& plan,
                   const Implementation& implementation, std::vector<PlanFinding>& findings) {
  if (plan.context == 1) {
    if (plan.context_exchange) {
      findings.push_back({"plan.context_exchange", "an exchange does nothing with 'context: 1'", "", true});
    }
    return;
  }
  check_sequence(training, plan, implementation.balanced_context, findings);
  const ContextExchange exchange = plan.context_exchange.value_or(implementation.context_exchange);
  if (exchange == ContextExchange::kAllToAll) check_heads(model, plan, findings);
  check_attention(model, training, plan, exchange, findings);
  if (implementation.context_attention.value_or(implementation.attention) == hw_models::AttentionKernel::kUnfused) {
    findings.push_back({"plan.context",
                        "context parallelism puts the outputs of kernels together by their log-sum-exps, which '" +
                            implementation.name + "' with unfused attention does not have",
                        "use 'context: 1' or software with 'context_attention: flash'", false});
  }
}

}  // namespace strategies
