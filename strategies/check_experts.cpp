#include "strategies/check_experts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <sstream>
#include <string>

#include "strategies/plan_advice.h"

namespace strategies {
namespace {

class ExpertCheck {
 public:
  ExpertCheck(const ModelSpec& model, const TrainingSpec& training, const PlanSpec& plan,
              std::vector<PlanFinding>& findings)
      : model_(model), training_(training), plan_(plan), findings_(findings) {}

  void run() {
    if (!model_.experts) {
      if (plan_.expert > 1) error("expert", "'" + model_.name + "' has no experts to spread over ranks", "use 1");
      if (plan_.expert_tensor > 0) error("expert_tensor", "'" + model_.name + "' has no experts", "leave it out");
      return;
    }
    widths();
    if (divides("expert", plan_.expert, model_.experts->experts, "experts") && mesh()) stages();
    supported();
    routing();
  }

 private:
  void error(const std::string& key, const std::string& message, const std::string& advice) {
    findings_.push_back({"plan." + key, message, advice, false});
  }

  bool divides(const std::string& key, std::int64_t ranks, std::int64_t value, const std::string& what) {
    if (value % ranks == 0) return true;
    error(key,
          "'" + key + ": " + std::to_string(ranks) + "' does not divide the model's " + std::to_string(value) + " " +
              what,
          "use " + listed(divisors_near(value, ranks)));
    return false;
  }

  void widths() {
    divides("expert_tensor", plan_.tensor_of_experts(), model_.experts->ffn, "columns of an expert");
    divides("tensor", plan_.tensor, model_.experts->shared_ffn, "columns of the shared experts");
  }

  /// Megatron's rule: replicas x expert x expert_tensor are the ranks of data x context x tensor. `expert` divides the
  /// experts already.
  bool mesh() {
    const std::int64_t ranks = std::int64_t{plan_.tensor} * plan_.context * plan_.data;
    const std::int64_t tensor = plan_.tensor_of_experts();
    if (ranks % (tensor * plan_.expert) == 0) return true;
    const std::string rule = "a stage's tensor x context x data = " + std::to_string(ranks) +
                             " ranks are not a multiple of expert_tensor x expert = " + std::to_string(tensor) + " x " +
                             std::to_string(plan_.expert);
    if (ranks % tensor != 0) {
      error("expert_tensor", rule, "use expert_tensor " + listed(divisors_near(ranks, tensor)));
    } else {
      const std::int64_t most = std::gcd(ranks / tensor, std::int64_t{model_.experts->experts});
      error("expert", rule, "use " + listed(divisors_near(most, plan_.expert)));
    }
    return false;
  }

  /// Both views must put the same ranks on a stage: what varies faster than pp is as large in both.
  void stages() {
    if (plan_.pipeline == 1) return;
    std::int64_t dense = 1, experts = 1;
    std::istringstream order(plan_.rank_order);
    for (std::string name; std::getline(order, name, '-') && name != "pp";) {
      if (name == "tp") dense *= plan_.tensor, experts *= plan_.tensor_of_experts();
      if (name == "cp") dense *= plan_.context;
      if (name == "ep") experts *= plan_.expert;
      if (name == "dp") dense *= plan_.data, experts *= plan_.expert_replicas();
    }
    if (dense == experts) return;
    error("rank_order",
          "'rank_order: " + plan_.rank_order + "' puts " + std::to_string(dense) + " ranks before pp, but " +
              std::to_string(experts) + " of the experts' view: a stage would not have the same ranks in both",
          "put pp last: tp-cp-ep-dp-pp");
  }

  void supported() {
    if (plan_.tensor > 1 && !plan_.sequence_parallel) {
      error("sequence_parallel",
            "tensor ranks route their own tokens to the experts, so the sequence must be split over them",
            "use 'sequence_parallel: true' or 'tensor: 1'");
    }
    if (plan_.zero >= 2) {
      error("zero", "ZeRO 2 and 3 are not supported with experts by this version", "use 'zero: 1'");
    }
  }

  void routing() {
    const std::vector<double>& choices = training_.routing.choices;
    if (choices.empty()) return;
    const auto finding = [this](const std::string& message, const std::string& advice) {
      findings_.push_back({"training.routing", message, advice, false});
    };
    if (static_cast<int>(choices.size()) != model_.experts->experts) {
      finding("'routing' counts the choices of " + std::to_string(choices.size()) + " experts, a layer has " +
                  std::to_string(model_.experts->experts),
              "give one number for each expert");
      return;
    }
    const double all = std::accumulate(choices.begin(), choices.end(), 0.0);
    constexpr double kRounding = 1e-6;
    if (all <= 0 || std::ranges::max(choices) * model_.experts->per_token > all * (1 + kRounding)) {
      finding("a token chooses an expert once: none can have more than 1 / " +
                  std::to_string(model_.experts->per_token) + " of all choices",
              "check the counts");
    }
  }

  const ModelSpec& model_;
  const TrainingSpec& training_;
  const PlanSpec& plan_;
  std::vector<PlanFinding>& findings_;
};

}  // namespace

void check_experts(const ModelSpec& model, const TrainingSpec& training, const PlanSpec& plan,
                   std::vector<PlanFinding>& findings) {
  ExpertCheck(model, training, plan, findings).run();
}

}  // namespace strategies
