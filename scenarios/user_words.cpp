#include "scenarios/user_words.h"

#include <algorithm>
#include <array>

namespace scenarios {
namespace {

constexpr std::array<UserWord, 13> kUserWords{{
    {"tp", "plan.tensor", "tensor parallel ranks"},
    {"pp", "plan.pipeline", "pipeline stages"},
    {"dp", "plan.data", "data parallel replicas"},
    {"cp", "plan.context", "context parallel ranks"},
    {"ep", "plan.expert", "expert parallel ranks"},
    {"etp", "plan.expert_tensor", "ranks that share each expert"},
    {"vpp", "plan.chunks", "model chunks per stage"},
    {"mbs", "plan.micro_batch", "sequences per microbatch"},
    {"gbs", "training.global_batch", "sequences per step"},
    {"seq-len", "training.sequence_length", "tokens per sequence"},
    {"gpus", "cluster.gpus", "GPUs, in whole nodes"},
    {"nodes", "cluster.nodes", "nodes"},
    {"gpu", "cluster.gpu", "a GPU of the catalogue in place of the node's own"},
}};

}  // namespace

std::span<const UserWord> user_words() { return kUserWords; }

std::string key_of(std::string_view word) {
  const auto found = std::ranges::find(kUserWords, word, &UserWord::word);
  return std::string(found == kUserWords.end() ? word : found->key);
}

}  // namespace scenarios
