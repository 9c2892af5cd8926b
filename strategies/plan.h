// The user's parallelism plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace strategies {

enum class Recompute : std::uint8_t { kNone, kSelective, kFull };

struct PlanSpec {
  int tensor = 1, pipeline = 1, data = 1, context = 1, expert = 1;
  std::int64_t micro_batch = 1;           ///< sequences per microbatch and replica
  std::string schedule = "1f1b";          ///< name in the schedule registry
  int chunks = 1;                         ///< model chunks (virtual stages) per stage
  std::vector<int> layers_per_stage;      ///< one entry per virtual stage; empty = even split
  bool count_embedding_and_loss = false;  ///< they take a layer's place in the even split
  bool sequence_parallel = false;
  Recompute recompute = Recompute::kNone;
  int zero = 0;                               ///< sharding stage: 0 or 1 so far
  std::string rank_order = "tp-cp-ep-dp-pp";  ///< first varies fastest over consecutive ranks

  int ranks() const { return tensor * pipeline * data * context; }
  int replicas() const { return data * context; }  ///< of a parameter's shard that see other tokens
};

}  // namespace strategies
