// What the text form calls the fields of a Program's parts. One table serves printing and parsing: a field is written
// as name=value where it differs from its default, or always where the line would read oddly without it.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "strategies/program/program.h"

namespace strategies::text {

// ---- Words of enumerators -----------------------------------------------------------------------------------------

/// Number of enumerators of E; 0 = E has no words.
template <class E>
inline constexpr int kCount = 0;
template <>
inline constexpr int kCount<Lane> = kLanes;
template <>
inline constexpr int kCount<Holds> = 5;
template <>
inline constexpr int kCount<Lifetime> = 3;
template <>
inline constexpr int kCount<CollectiveKind> = 8;
template <>
inline constexpr int kCount<Payload> = 2;
template <>
inline constexpr int kCount<HostReason> = 8;
template <>
inline constexpr int kCount<Phase> = 8;
template <>
inline constexpr int kCount<BlockKind> = 6;
template <>
inline constexpr int kCount<Variant> = 4;
template <>
inline constexpr int kCount<hw_models::DType> = static_cast<int>(hw_models::kDTypes.size());
template <>
inline constexpr int kCount<hw_models::AttentionKernel> = 4;
template <>
inline constexpr int kCount<hw_models::NormKind> = 2;
template <>
inline constexpr int kCount<hw_models::ElementwiseKind> = 12;
template <>
inline constexpr int kCount<hw_models::OptimizerKind> = 2;

template <class E>
std::string_view word(E value) {
  const auto index = static_cast<std::size_t>(value);
  if constexpr (std::is_same_v<E, Lifetime>) {
    return std::array{"static", "microbatch", "block"}.at(index);
  } else if constexpr (std::is_same_v<E, Payload>) {
    return std::array{"activation", "gradient"}.at(index);
  } else if constexpr (std::is_same_v<E, hw_models::DType>) {
    return hw_models::kDTypes.at(index).name;
  } else if constexpr (std::is_same_v<E, hw_models::AttentionKernel>) {
    return std::array{"flash", "flash-2", "unfused", "flash-1"}.at(index);
  } else if constexpr (std::is_same_v<E, hw_models::NormKind>) {
    return std::array{"layer-norm", "rms-norm"}.at(index);
  } else if constexpr (std::is_same_v<E, hw_models::ElementwiseKind>) {
    return std::array{"gelu", "swiglu", "squared-relu", "relu", "rotary", "residual-add", "bias-dropout-add",
                      "cast", "scale",  "zero",         "copy", "add"}
        .at(index);
  } else if constexpr (std::is_same_v<E, hw_models::OptimizerKind>) {
    return std::array{"sgd", "adamw"}.at(index);
  } else {
    return name(value);
  }
}

// ---- Fields of structures -----------------------------------------------------------------------------------------

template <class Owner, class Value>
struct Field {
  std::string_view name;
  Value Owner::*member;
  bool always = false;  ///< written even when it is the default
};
template <class Owner, class Value>
Field(const char*, Value Owner::*, bool = false) -> Field<Owner, Value>;

/// The word that introduces T and the fields that follow it.
template <class T>
struct Description;

template <>
struct Description<hw_models::Matmul> {
  using T = hw_models::Matmul;
  static constexpr std::string_view kWord = "matmul";
  static constexpr auto kFields = std::tuple{Field{"m", &T::m},
                                             Field{"n", &T::n},
                                             Field{"k", &T::k},
                                             Field{"batch", &T::batch},
                                             Field{"dtype", &T::dtype},
                                             Field{"output", &T::output},
                                             Field{"accumulate", &T::accumulate},
                                             Field{"transpose_a", &T::transpose_a},
                                             Field{"transpose_b", &T::transpose_b}};
};
template <>
struct Description<hw_models::Attention> {
  using T = hw_models::Attention;
  static constexpr std::string_view kWord = "attention";
  static constexpr auto kFields =
      std::tuple{Field{"batch", &T::batch},           Field{"heads", &T::heads},
                 Field{"kv_heads", &T::kv_heads},     Field{"query_length", &T::query_length},
                 Field{"key_length", &T::key_length}, Field{"head_dim", &T::head_dim},
                 Field{"value_dim", &T::value_dim},   Field{"causal", &T::causal},
                 Field{"backward", &T::backward},     Field{"dropout", &T::dropout},
                 Field{"kernel", &T::kernel},         Field{"dtype", &T::dtype},
                 Field{"window", &T::window}};
};
template <>
struct Description<hw_models::Norm> {
  using T = hw_models::Norm;
  static constexpr std::string_view kWord = "norm";
  static constexpr auto kFields =
      std::tuple{Field{"rows", &T::rows}, Field{"columns", &T::columns}, Field{"kind", &T::kind},
                 Field{"backward", &T::backward}, Field{"dtype", &T::dtype}};
};
template <>
struct Description<hw_models::Elementwise> {
  using T = hw_models::Elementwise;
  static constexpr std::string_view kWord = "elementwise";
  static constexpr auto kFields = std::tuple{Field{"kind", &T::kind},
                                             Field{"elements", &T::elements},
                                             Field{"bytes_read", &T::bytes_read},
                                             Field{"bytes_written", &T::bytes_written},
                                             Field{"backward", &T::backward},
                                             Field{"columns", &T::columns},
                                             Field{"head_dim", &T::head_dim}};
};
template <>
struct Description<hw_models::Embedding> {
  using T = hw_models::Embedding;
  static constexpr std::string_view kWord = "embedding";
  static constexpr auto kFields = std::tuple{
      Field{"tokens", &T::tokens},     Field{"hidden", &T::hidden}, Field{"vocabulary", &T::vocabulary},
      Field{"backward", &T::backward}, Field{"dtype", &T::dtype},   Field{"position_rows", &T::position_rows}};
};
template <>
struct Description<hw_models::CrossEntropy> {
  using T = hw_models::CrossEntropy;
  static constexpr std::string_view kWord = "cross-entropy";
  static constexpr auto kFields =
      std::tuple{Field{"tokens", &T::tokens}, Field{"vocabulary", &T::vocabulary}, Field{"backward", &T::backward},
                 Field{"fused", &T::fused},   Field{"logits", &T::logits},         Field{"padding", &T::padding}};
};
template <>
struct Description<hw_models::Optimizer> {
  using T = hw_models::Optimizer;
  static constexpr std::string_view kWord = "optimizer";
  static constexpr auto kFields = std::tuple{Field{"kind", &T::kind}, Field{"parameters", &T::parameters},
                                             Field{"bytes_per_parameter", &T::bytes_per_parameter}};
};
template <>
struct Description<hw_models::SquaredNorm> {
  using T = hw_models::SquaredNorm;
  static constexpr std::string_view kWord = "squared-norm";
  static constexpr auto kFields = std::tuple{Field{"elements", &T::elements}, Field{"dtype", &T::dtype}};
};
template <>
struct Description<hw_models::Route> {
  using T = hw_models::Route;
  static constexpr std::string_view kWord = "route";
  static constexpr auto kFields =
      std::tuple{Field{"tokens", &T::tokens}, Field{"hidden", &T::hidden}, Field{"experts", &T::experts},
                 Field{"top_k", &T::top_k}, Field{"backward", &T::backward}};
};
template <>
struct Description<hw_models::Measured> {
  using T = hw_models::Measured;
  static constexpr std::string_view kWord = "measured";
  static constexpr auto kFields = std::tuple{Field{"seconds", &T::seconds}};
};
/// A collective is introduced by its kind.
template <>
struct Description<Collective> {
  using T = Collective;
  static constexpr auto kFields =
      std::tuple{Field{"group", &T::group, true}, Field{"bytes", &T::bytes}, Field{"member_bytes", &T::member_bytes},
                 Field{"dtype", &T::dtype}, Field{"algorithm", &T::algorithm}};
};
template <>
struct Description<Send> {
  using T = Send;
  static constexpr std::string_view kWord = "send";
  static constexpr auto kFields =
      std::tuple{Field{"to", &T::virtual_stage, true}, Field{"bytes", &T::bytes}, Field{"payload", &T::payload, true}};
};
template <>
struct Description<Receive> {
  using T = Receive;
  static constexpr std::string_view kWord = "receive";
  static constexpr auto kFields = std::tuple{Field{"from", &T::virtual_stage, true}, Field{"bytes", &T::bytes},
                                             Field{"payload", &T::payload, true}};
};
template <>
struct Description<Host> {
  using T = Host;
  static constexpr std::string_view kWord = "host";
  static constexpr auto kFields = std::tuple{Field{"reason", &T::reason, true}, Field{"samples", &T::samples}};
};
template <>
struct Description<Checkpoint> {
  using T = Checkpoint;
  static constexpr std::string_view kWord = "checkpoint";
  static constexpr auto kFields = std::tuple{Field{"bytes", &T::bytes}};
};
/// What an operation has besides lane and work; a work's own fields come first and differ in name.
template <>
struct Description<Operation> {
  using T = Operation;
  static constexpr auto kFields =
      std::tuple{Field{"after", &T::after}, Field{"reads", &T::reads}, Field{"writes", &T::writes},
                 Field{"allocates", &T::allocates}, Field{"frees", &T::frees}};
};
template <>
struct Description<Origin> {
  using T = Origin;
  static constexpr auto kFields =
      std::tuple{Field{"layer", &T::layer}, Field{"phase", &T::phase}, Field{"label", &T::label}};
};
template <>
struct Description<TensorSlice> {
  using T = TensorSlice;
  static constexpr auto kFields = std::tuple{Field{"parameter", &T::parameter},
                                             Field{"shape", &T::shape},
                                             Field{"axis", &T::sharded_axis},
                                             Field{"parts", &T::parts},
                                             Field{"begin", &T::begin},
                                             Field{"end", &T::end},
                                             Field{"expert_ranks", &T::expert_ranks},
                                             Field{"pieces", &T::pieces}};
};
template <>
struct Description<Buffer> {
  using T = Buffer;
  static constexpr auto kFields =
      std::tuple{Field{"size", &T::size}, Field{"holds", &T::holds}, Field{"lifetime", &T::lifetime}};
};
template <>
struct Description<Block> {
  using T = Block;
  static constexpr auto kFields = std::tuple{Field{"variant", &T::variant}, Field{"chunk", &T::chunk},
                                             Field{"virtual_stage", &T::virtual_stage}, Field{"graph", &T::graph}};
};
template <>
struct Description<Action> {
  using T = Action;
  static constexpr auto kFields =
      std::tuple{Field{"block", &T::block, true}, Field{"microbatch", &T::microbatch}, Field{"after", &T::after}};
};
template <>
struct Description<Role> {
  using T = Role;
  static constexpr auto kFields = std::tuple{Field{"stage", &T::stage, true}};
};
template <>
struct Description<Group> {
  using T = Group;
  static constexpr auto kFields = std::tuple{Field{"view", &T::view, true}, Field{"spans", &T::spans}};
};
template <>
struct Description<Program> {
  using T = Program;
  static constexpr auto kFields =
      std::tuple{Field{"samples", &T::samples_per_step}, Field{"tokens", &T::tokens_per_step},
                 Field{"balanced", &T::balanced_context}};
};

}  // namespace strategies::text
