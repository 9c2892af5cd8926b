#include <algorithm>
#include <numeric>
#include <set>
#include <sstream>
#include <utility>

#include "strategies/build_program.h"
#include "strategies/check_context.h"
#include "strategies/check_experts.h"
#include "strategies/layer_split.h"
#include "strategies/pipeline/schedule.h"
#include "strategies/plan_advice.h"

namespace strategies {
namespace {

class PlanCheck {
 public:
  PlanCheck(const ModelSpec& model, const TrainingSpec& training, const PlanSpec& plan,
            const Implementation& implementation)
      : model_(model), training_(training), plan_(plan), implementation_(implementation) {}

  std::vector<PlanFinding> run() {
    supported();
    tensor();
    sequence();
    check_context(model_, training_, plan_, implementation_, findings_);
    check_experts(model_, training_, plan_, findings_);
    batch();
    pipeline();
    sharding();
    rank_order();
    return std::move(findings_);
  }

 private:
  void error(std::string path, std::string message, std::string advice) {
    findings_.push_back({std::move(path), std::move(message), std::move(advice), false});
  }
  void warning(std::string path, std::string message, std::string advice) {
    findings_.push_back({std::move(path), std::move(message), std::move(advice), true});
  }

  void supported() {
    if (plan_.recompute == Recompute::kUpProjection && !model_.latent) {
      error("plan.recompute", "'recompute: up-projection' needs the latents that '" + model_.name + "' does not have",
            "use 'recompute: selective'");
    }
    if (model_.parallel_block) {
      warning("model",
              "'" + model_.name + "' runs attention and MLP in parallel; they are simulated one after the other", "");
    }
  }

  void divides(const char* what, std::int64_t value) {
    if (value % plan_.tensor == 0) return;
    error("plan.tensor",
          "'tensor: " + std::to_string(plan_.tensor) + "' does not divide the model's " + std::to_string(value) + " " +
              what,
          "use " + listed(divisors_near(value, plan_.tensor)));
  }

  void tensor() {
    if (plan_.tensor == 1) return;
    divides("attention heads", model_.heads);
    divides("MLP columns", model_.ffn);
    if (model_.extra_prediction_layers > 0) divides("hidden columns", model_.hidden);
    const std::int64_t kv = model_.kv_heads;
    if (model_.heads % plan_.tensor == 0 && kv % plan_.tensor != 0 && plan_.tensor % kv != 0) {
      error("plan.tensor",
            "'tensor: " + std::to_string(plan_.tensor) + "' neither divides nor is a multiple of the model's " +
                std::to_string(kv) + " key-value heads",
            "use " + listed(divisors_near(kv, plan_.tensor)));
    }
  }

  void sequence() {
    if (plan_.sequence_parallel && plan_.tensor == 1) {
      warning("plan.sequence_parallel", "sequence parallelism does nothing with 'tensor: 1'", "");
    }
    if (plan_.sequence_parallel && plan_.context == 1 && training_.sequence_length % plan_.tensor != 0) {
      error("training.sequence_length",
            "sequence parallelism splits " + std::to_string(training_.sequence_length) +
                " tokens over 'tensor: " + std::to_string(plan_.tensor) + "', which does not divide them",
            "use " + std::to_string((training_.sequence_length / plan_.tensor + 1) * plan_.tensor));
    }
    if (model_.position == PositionKind::kLearned && training_.sequence_length > model_.max_positions) {
      error("training.sequence_length",
            "the model's position table has only " + std::to_string(model_.max_positions) + " rows",
            "use at most " + std::to_string(model_.max_positions));
    }
  }

  void batch() {
    const std::int64_t unit = plan_.data * plan_.micro_batch;
    const std::int64_t batch = training_.global_batch;
    if (batch % unit == 0) {
      constexpr std::int64_t kMostMicrobatches = 1'000'000;  // bounds the schedule
      if (batch / unit > kMostMicrobatches) {
        error("training.global_batch",
              "a replica would run " + std::to_string(batch / unit) + " microbatches a step, more than " +
                  std::to_string(kMostMicrobatches),
              "use a larger micro_batch or more data ranks");
      }
      return;
    }
    const std::int64_t below = batch / unit * unit;
    std::vector<std::int64_t> legal;
    if (below > 0) legal.push_back(below);
    legal.push_back(below + unit);
    error("training.global_batch",
          "'global_batch: " + std::to_string(batch) + "' is not a multiple of data x micro_batch = " +
              std::to_string(plan_.data) + " x " + std::to_string(plan_.micro_batch) + " = " + std::to_string(unit),
          "use " + listed(legal));
  }

  void pipeline() {
    const Schedule* schedule = find_schedule(plan_.schedule);
    if (schedule == nullptr) {
      std::string names;
      for (const Schedule& known : schedules()) names += (names.empty() ? "" : ", ") + std::string(known.name);
      error("plan.schedule", "unknown schedule '" + plan_.schedule + "'", "known: " + names);
      return;
    }
    chunks(*schedule);
    layers();
  }

  void chunks(const Schedule& schedule) {
    if (plan_.chunks > schedule.maximum_chunks) {
      const std::string most =
          schedule.maximum_chunks == 1 ? "one chunk" : std::to_string(schedule.maximum_chunks) + " chunks";
      error("plan.chunks",
            "schedule '" + plan_.schedule + "' runs " + most + " per stage, not " + std::to_string(plan_.chunks),
            "use 'schedule: interleaved' or 'chunks: " + std::to_string(schedule.maximum_chunks) + "'");
    } else if (plan_.chunks < schedule.minimum_chunks) {
      error("plan.chunks",
            "schedule '" + plan_.schedule + "' needs at least " + std::to_string(schedule.minimum_chunks) +
                " chunks per stage",
            "use 'chunks: " + std::to_string(schedule.minimum_chunks) + "' or 'schedule: 1f1b'");
    }
    if (schedule.minimum_chunks > 1 && plan_.pipeline == 1) {
      error("plan.schedule", "schedule '" + plan_.schedule + "' needs more than one pipeline stage",
            "use 'schedule: 1f1b'");
    }
    const std::int64_t unit = plan_.data * plan_.micro_batch;
    const std::int64_t microbatches = training_.global_batch / unit;
    const std::int64_t fewest = static_cast<std::int64_t>(schedule.fewest_microbatches) * plan_.pipeline;
    if (training_.global_batch % unit == 0 && microbatches < fewest) {
      error("training.global_batch",
            "schedule '" + plan_.schedule + "' needs at least " + std::to_string(schedule.fewest_microbatches) +
                " microbatches per stage, " + std::to_string(fewest) + " in all; a replica has " +
                std::to_string(microbatches),
            "use 'global_batch: " + std::to_string(fewest * unit) + "' or 'schedule: zb-v'");
    }
    if (schedule.microbatches_multiple_of_stages && training_.global_batch % unit == 0 &&
        microbatches % plan_.pipeline != 0) {
      const std::int64_t up = (microbatches / plan_.pipeline + 1) * plan_.pipeline;
      error("training.global_batch",
            "schedule '" + plan_.schedule + "' needs the " + std::to_string(microbatches) +
                " microbatches of a replica to be a multiple of 'pipeline: " + std::to_string(plan_.pipeline) + "'",
            "use 'global_batch: " + std::to_string(up * unit) + "'");
    }
  }

  void layers() {
    const int virtual_stages = plan_.pipeline * plan_.chunks;
    if (!plan_.layers_per_stage.empty()) {
      own_split(virtual_stages);
      return;
    }
    // The embedding and the loss may have a stage to themselves (Llama 3: 126 layers on 16 x 8).
    const int places = model_.layers + (plan_.count_embedding_and_loss ? 2 : 0);
    if (places < virtual_stages) {
      error("plan.pipeline",
            "the model's " + std::to_string(model_.layers) +
                " layers do not fill pipeline x chunks = " + std::to_string(virtual_stages) + " stages",
            "use at most " + std::to_string(places) + " stages in all");
      return;
    }
    if (split_is_uneven(model_.layers, plan_)) {
      std::string text;
      for (const int count : split_layers(model_.layers, plan_))
        text += (text.empty() ? "" : "/") + std::to_string(count);
      if (text.size() > 60) text = text.substr(0, 57) + "...";
      warning("plan.pipeline",
              "the model's " + std::to_string(model_.layers) + " layers do not divide over " +
                  std::to_string(virtual_stages) + " stages; split as " + text,
              "set 'layers_per_stage' to choose another split");
    }
  }

  void own_split(int virtual_stages) {
    if (static_cast<int>(plan_.layers_per_stage.size()) != virtual_stages) {
      error("plan.layers_per_stage",
            "'layers_per_stage' has " + std::to_string(plan_.layers_per_stage.size()) +
                " entries for pipeline x chunks = " + std::to_string(virtual_stages) + " stages",
            "give " + std::to_string(virtual_stages) + " numbers");
      return;
    }
    const int sum = std::accumulate(plan_.layers_per_stage.begin(), plan_.layers_per_stage.end(), 0);
    if (sum != model_.layers) {
      error("plan.layers_per_stage",
            "'layers_per_stage' adds up to " + std::to_string(sum) + " layers, the model has " +
                std::to_string(model_.layers),
            "");
    }
  }

  void sharding() {
    needs_stage("shard", plan_.shard != 0, 3, "which replicas share the shards of the weights");
    needs_stage("prefetch", plan_.prefetch != PlanSpec{}.prefetch, 3, "how far weights are gathered ahead");
    needs_stage("reshard_after_forward", plan_.reshard_after_forward.has_value(), 3,
                "when whole weights are given back");
    needs_stage("reduce_each_microbatch", plan_.reduce_each_microbatch.has_value(), 2, "when gradients become shards");
    if (plan_.zero == 2 && plan_.pipeline > 1) {
      error("plan.zero", "ZeRO 2 reduces gradients after every microbatch; a pipeline adds them up and reduces once",
            "use 'zero: 1' or 'zero: 3'");
    } else if (plan_.zero == 2 && !plan_.reduce_each_microbatch.value_or(true)) {
      error("plan.reduce_each_microbatch",
            "gradients that are reduced once a step are whole until then: that is ZeRO 1", "use 'zero: 1'");
    }
    const Schedule* schedule = find_schedule(plan_.schedule);
    if (plan_.zero >= 2 && schedule != nullptr && schedule->splits_backward) {
      error("plan.schedule",
            "schedule '" + plan_.schedule +
                "' computes weight gradients in passes of their own, which ZeRO 2 and 3 do not reduce",
            "use 'schedule: 1f1b' or 'zero: 1'");
    } else if (plan_.zero == 3 && plan_.pipeline == 1 && schedule != nullptr && plan_.schedule != "1f1b") {
      error("plan.schedule",
            "schedule '" + plan_.schedule +
                "' on one stage has several microbatches in flight, each with whole weights of its own under ZeRO 3",
            "use 'schedule: 1f1b'");
    }
    sets_of_shards();
  }

  void needs_stage(const std::string& key, bool given, int stage, const std::string& says) {
    if (!given || plan_.zero >= stage) return;
    error("plan." + key,
          "'" + key + "' says " + says + ", which 'zero: " + std::to_string(plan_.zero) + "' does not do",
          "use 'zero: " + std::to_string(stage) + "' or leave it out");
  }

  /// HSDP: several sets of shards, equal in size.
  void sets_of_shards() {
    if (plan_.zero < 3 || plan_.shard == 0) return;
    if (plan_.shard == 1) {
      error("plan.shard", "'shard: 1' shares nothing", "use 'zero: 0', or at least 'shard: 2'");
    } else if (plan_.data % plan_.shard != 0) {
      std::vector<std::int64_t> legal = divisors_near(plan_.data, plan_.shard);
      std::erase(legal, 1);
      error("plan.shard",
            "'shard: " + std::to_string(plan_.shard) + "' does not divide 'data: " + std::to_string(plan_.data) + "'",
            legal.empty() ? "leave it out" : "use " + listed(legal));
    }
  }

  void rank_order() {
    std::multiset<std::string> names;
    std::istringstream order(plan_.rank_order);
    for (std::string name; std::getline(order, name, '-');) names.insert(name);
    const std::multiset<std::string> without{"tp", "cp", "dp", "pp"};
    std::multiset<std::string> with = without;
    with.insert("ep");
    if (names != without && names != with) {
      error("plan.rank_order", "'rank_order: " + plan_.rank_order + "' must name tp, cp, dp and pp once each",
            "e.g. tp-cp-ep-dp-pp");
    }
  }

  const ModelSpec& model_;
  const TrainingSpec& training_;
  const PlanSpec& plan_;
  const Implementation& implementation_;
  std::vector<PlanFinding> findings_;
};

}  // namespace

std::vector<PlanFinding> check_plan(const ModelSpec& model, const TrainingSpec& training, const PlanSpec& plan,
                                    const Implementation& implementation) {
  return PlanCheck(model, training, plan, implementation).run();
}

}  // namespace strategies
