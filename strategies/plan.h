// The user's parallelism plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strategies/context_exchange.h"

namespace strategies {

enum class Recompute : std::uint8_t {
  kNone,
  kSelective,     ///< as the stack means it
  kUpProjection,  ///< latent attention: queries, keys and values out of the latents (Megatron's mla_up_proj)
  kFull
};

struct PlanSpec {
  int tensor = 1, pipeline = 1, data = 1, context = 1;
  /// Experts see a stage's ranks as expert_tensor x expert x replicas instead of tensor x context x data: `expert`
  /// ranks share the experts of a layer, `expert_tensor` ranks share each of them (0 = as many as `tensor`).
  int expert = 1, expert_tensor = 0;
  std::int64_t micro_batch = 1;           ///< sequences per microbatch and replica
  std::string schedule = "1f1b";          ///< name in the schedule registry
  int chunks = 1;                         ///< model chunks (virtual stages) per stage
  std::vector<int> layers_per_stage;      ///< one entry per virtual stage; empty = even split
  bool count_embedding_and_loss = false;  ///< they take a layer's place in the even split
  bool sequence_parallel = false;
  Recompute recompute = Recompute::kNone;
  /// What the replicas share instead of holding it each: 1 the optimizer state, 2 the gradients too, 3 the weights too.
  int zero = 0;
  int shard = 0;     ///< ZeRO 3: data ranks that share one set of shards (HSDP); 0 = all
  int prefetch = 1;  ///< ZeRO 3: layers whose weights are gathered while another one runs
  /// ZeRO 3: the forward pass gives whole weights back and the backward pass gathers them again. Unsaid: not in a
  /// pipeline, which would gather them for every microbatch (torchtitan's default).
  std::optional<bool> reshard_after_forward;
  /// ZeRO 2 and 3: gradients are reduced into their shards in every microbatch's backward pass, else in the last one's,
  /// and whole until then. Unsaid: not in a pipeline.
  std::optional<bool> reduce_each_microbatch;
  std::optional<ContextExchange> context_exchange;  ///< empty = the software stack's
  std::string rank_order = "tp-cp-ep-dp-pp";        ///< first varies fastest over consecutive ranks

  int ranks() const { return tensor * pipeline * data * context; }
  int replicas() const { return data * context; }  ///< of a tensor rank's weights, that see other tokens
  int tensor_of_experts() const { return expert_tensor == 0 ? tensor : expert_tensor; }
  int expert_replicas() const { return tensor * context * data / (tensor_of_experts() * expert); }
  int expert_shards() const { return zero == 0 ? 1 : expert_replicas(); }
  /// Ranks that share what ZeRO shards; 1 without.
  int shards() const { return zero == 0 ? 1 : shard == 0 ? replicas() : shard * context; }
  /// There are several sets of shards (HSDP).
  bool replicates_shards() const { return shards() > 1 && shards() < replicas(); }
  bool reshards() const { return reshard_after_forward.value_or(pipeline == 1); }
  /// Whole weights do not outlive the step.
  bool shards_weights() const { return zero >= 3 && shards() > 1; }
  /// Whole gradients do not outlive a backward pass.
  bool shards_gradients() const { return zero >= 2 && shards() > 1 && reduce_each_microbatch.value_or(pipeline == 1); }
  /// Weights are gathered in the first forward pass of a step and stay whole until its end.
  bool gathers_once() const { return shards_weights() && !reshards() && (pipeline > 1 || !shards_gradients()); }
};

}  // namespace strategies
