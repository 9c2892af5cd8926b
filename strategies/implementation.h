// What the software stack decides about the operations. Part of the Program and its fingerprint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hw_models/kernel.h"
#include "hw_models/units.h"
#include "strategies/context_exchange.h"
#include "strategies/scaling_recipe.h"

namespace strategies {

/// How replicas with a sharded optimizer (ZeRO 1) sum their gradients. Bytes on the wire of a rank, of n replicas:
/// scatter (n - 1) / n of the gradients, all-reduce twice that.
enum class ShardedReduction : std::uint8_t {
  kScatter,             ///< every rank gets its shard of the sum
  kAllReduce,           ///< every rank gets the whole sum and uses its shard
  kAllReduceUnlessFp16  ///< as DeepSpeed: its bf16 optimizer all-reduces, its fp16 optimizer reduces to the owners
};

/// What recompute: selective computes again in the backward pass.
enum class SelectiveRecompute : std::uint8_t {
  kAttention,       ///< scores and softmax of every layer (Megatron-LM; a flash kernel: its forward)
  kAlternateLayers  ///< the whole of every second layer (torchtitan)
};

struct Implementation {
  std::string name = "megatron-core";
  hw_models::AttentionKernel attention = hw_models::AttentionKernel::kFlash;
  /// Where sequences are split, if it is another one.
  std::optional<hw_models::AttentionKernel> context_attention = std::nullopt;
  hw_models::DType gradient = hw_models::DType::kFp32;  ///< accumulation and reduction
  hw_models::DType parameter_gather = hw_models::DType::kBf16;
  hw_models::DType logits = hw_models::DType::kFp32;
  ShardedReduction sharded_reduction = ShardedReduction::kScatter;
  SelectiveRecompute selective = SelectiveRecompute::kAttention;
  ContextExchange context_exchange = ContextExchange::kRing;
  bool balanced_context = true;  ///< context ranks take a piece from the front of a sequence and one from its end
  bool dropout = false;          ///< masks are kept
  bool fused_cross_entropy = true;
  bool grouped_experts = true;    ///< one kernel multiplies for all experts of a rank; else one after the other
  bool fused_elementwise = true;  ///< bias + activation, bias + dropout + add in one pass
  bool fused_gate = false;        ///< not fused_elementwise: the product with the gate is still part of the activation
  /// RMSNorm and the rotation of queries and keys as chains of the framework's own kernels, fp32 between them.
  bool composed_passes = false;
  /// Flash attention on rows gathered out of the padded batch and put back (flash_attn.bert_padding); the gradients of
  /// queries, keys and values are joined in a copy of their own.
  bool unpads_attention = false;
  bool packed_attention = false;  ///< unfused: its products read and write the projections' rows, nothing is copied
  bool fused_gradient_accumulation = true;  ///< the weight-gradient product adds into the gradient buffer itself
  bool half_gradients_until_end = false;    ///< not fused: narrower products stay until the whole backward is done
  bool casts_products = false;              ///< not fused: a narrower product is cast to the gradient's format first
  bool separate_buckets = false;            ///< unsharded replicas reduce through buckets of their own (torch DDP)
  bool copies_keys_and_values = false;      ///< behind the rotation, while the projection's output stays alive
  bool persistent_gathers = false;          ///< sequences are gathered into buffers that survive the step
  bool flat_parameter_gather = false;       ///< ZeRO-1 gathers all weights at once through flat copies
  hw_models::Bytes library_workspace{};     ///< what cuBLAS and its kin take from the framework's allocator
  /// ZeRO 3 holds its shards of the weights in fp32, their own master copy, and casts them for every gather (FSDP's
  /// mixed precision); else shards have the weights' format and the optimizer a master copy.
  bool fp32_shards = false;
  /// ZeRO 3 cuts every parameter by rows and copies it out of the gathered buffer, gradients into the reduced one
  /// (FSDP2); else a layer is one flat buffer that parameters are views of (FSDP1).
  bool shards_rows = false;
  bool keeps_last_layer = false;         ///< ZeRO 3 leaves the last layer whole between its forward and its backward
  bool overlap_gradient_reduce = true;   ///< buckets start inside the last backward
  bool overlap_parameter_gather = true;  ///< ZeRO-1 gathers run ahead of the next forward
  bool gathers_at_once = false;          ///< ZeRO-1 gathers a stage chunk's parameters in one collective
  bool overlap_weight_gradient = true;   ///< tensor all-reduce of input gradients runs beside the weight gradients
  bool blocking_sends = false;           ///< compute waits for its own send
  bool blocking_receives = false;        ///< the host waits for each pipeline message before it issues anything else
  bool blocking_launches = false;        ///< the host waits for every operation before it issues the next
  bool balance_stages = false;           ///< layers are dealt out by matrix sizes, the LM head counted (nanotron)
  bool scatter_gather_messages =
      false;                   ///< without sequence parallelism: each tensor rank sends its share, receivers gather
  bool master_weights = true;  ///< fp32 copy in the optimizer; fp32 weights are their own
  bool cuda_graphs = false;    ///< one host launch per block
  bool gradient_norm = true;   ///< global gradient norm before the update (clipping)
  /// Schedules with weight gradients apart: a stage updates with the norm of the stages before it, and checks it
  /// against the global one in the next step (Qi et al., arXiv:2401.10241, section 4).
  bool post_validation = false;
  bool loss_read = true;                        ///< host reads the loss once a step
  std::int64_t bucket_parameters = 40'000'000;  ///< gradients per bucket; 0 = one bucket
  std::int64_t vocabulary_multiple = 128;       ///< padded to a multiple of this x tensor; 0 = none

  LowPrecision low_precision = {};  ///< operands of eight and four bits

  /// With a schedule that has weight gradients apart.
  bool validates_afterwards() const { return post_validation && gradient_norm; }
  bool keeps_master(hw_models::DType weights) const { return master_weights && weights != hw_models::DType::kFp32; }
};

}  // namespace strategies
