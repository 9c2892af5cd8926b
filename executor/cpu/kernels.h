// The kernels of the CPU backend: one table of functions per instruction set, chosen when the program starts.
//
// Results are deterministic: the order of every sum is fixed by the sizes, never by addresses or by timing. Tables of
// different instruction sets agree within rounding only. Kernels are single-threaded, keep no state and allocate
// nothing but what matrix products need for packing. Views must not overlap unless a kernel says so.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "executor/cpu/kernel_shapes.h"

namespace executor::cpu {

/// T = float in every run; double in the tests, where finite differences need it.
template <class T>
struct Kernels {
  std::string_view name;  ///< of the instruction set: "baseline", "x86-64-v3"

  void (*matmul)(const MatmulShape& shape, const T* a, const T* b, T* c);

  // P = softmax(Q K^T / sqrt(head_dim)) under the causal mask, context = P V.
  /// qkv -> probabilities[batch, heads, sequence, sequence] and context[tokens, heads head_dim]. Entries of the
  /// probabilities above the diagonal mean nothing. context = nullptr: probabilities only (selective recomputation).
  void (*attention_forward)(const AttentionShape& shape, const T* qkv, T* probabilities, T* context);
  /// -> gradient of qkv, packed alike, overwritten. `workspace`: attention_workspace(shape) elements.
  void (*attention_backward)(const AttentionShape& shape, const T* qkv, const T* probabilities, const T* context,
                             const T* context_gradient, T* qkv_gradient, T* workspace);

  // The same over one run of keys. With L = log(sum over the keys of e^score) of a row and head, attention over several
  // runs is their contexts weighed by e^(L_run - L), where e^L is the sum of all e^L_run; and P = e^(score - L) of the
  // whole serves the backward pass of every run (Dao et al., FlashAttention, arXiv:2205.14135).
  /// -> context[queries, heads head_dim] and log_sums[queries, heads]. `workspace`: attention_workspace(block).
  void (*attention_block_forward)(const AttentionBlock& block, const T* queries, const T* keys, const T* values,
                                  T* context, T* log_sums, T* workspace);
  /// `context` and `log_sums` over all runs; the three gradients are added to. `workspace`: twice as much.
  void (*attention_block_backward)(const AttentionBlock& block, const T* queries, const T* keys, const T* values,
                                   const T* context, const T* log_sums, const T* context_gradient, T* query_gradient,
                                   T* key_gradient, T* value_gradient, T* workspace);
  /// Takes a part into what other runs have given. One of the two log-sums may be minus infinity: of no keys.
  void (*attention_merge)(std::int64_t rows, std::int64_t heads, std::int64_t head_dim, const T* part,
                          const T* part_log_sums, T* context, T* log_sums);

  // LayerNorm: y = (x - mean) / sqrt(variance + epsilon) gain + bias; RMSNorm: y = x / sqrt(mean(x^2) + epsilon) gain.
  /// bias = nullptr: none. y may be x.
  void (*norm_forward)(const NormShape& shape, const T* x, const T* gain, const T* bias, T* y);
  /// Statistics are computed again from x. dx is overwritten and may be dy; gain_gradient and bias_gradient (nullptr:
  /// no bias) are added to.
  void (*norm_backward)(const NormShape& shape, const T* x, const T* gain, const T* dy, T* dx, T* gain_gradient,
                        T* bias_gradient);

  void (*activation_forward)(const ActivationShape& shape, const T* up, T* activated);
  void (*activation_backward)(const ActivationShape& shape, const T* up, const T* activated_gradient, T* up_gradient);

  /// In place. cosines and sines: [sequence, head_dim / 2] from rotary_table.
  void (*rotary_forward)(const RotaryShape& shape, const T* cosines, const T* sines, T* x);
  void (*rotary_backward)(const RotaryShape& shape, const T* cosines, const T* sines, T* gradient);

  void (*add)(std::int64_t elements, const T* a, const T* b, T* sum);              ///< sum may be a or b
  void (*bias_add)(std::int64_t rows, std::int64_t columns, const T* bias, T* x);  ///< every row of x += bias
  /// sum = x + bias + stream; bias[columns] = nullptr: none. sum may be x or stream.
  void (*residual_add)(std::int64_t rows, std::int64_t columns, const T* x, const T* bias, const T* stream, T* sum);
  /// bias_gradient[columns] += the sum of dy[rows, columns] over its rows
  void (*bias_gradient)(std::int64_t rows, std::int64_t columns, const T* dy, T* bias_gradient);
  void (*scale)(std::int64_t elements, T factor, T* x);
  void (*zero)(std::int64_t elements, T* x);
  void (*copy)(std::int64_t elements, const T* from, T* to);
  double (*squared_norm)(std::int64_t elements, const T* x);  ///< summed in double precision

  /// ids[tokens] count over the whole vocabulary. Rows of x[tokens, hidden] whose id another rank holds become zero.
  void (*embedding_forward)(const EmbeddingShape& shape, const std::int32_t* ids, const T* table, T* x);
  /// table_gradient[rows, hidden] += dx of the ids that this rank holds, in the order of the tokens.
  void (*embedding_backward)(const EmbeddingShape& shape, const std::int32_t* ids, const T* dx, T* table_gradient);
  /// y = x + position row; y may be x.
  void (*position_add)(const PositionShape& shape, const T* x, const T* table, T* y);
  void (*position_gradient)(const PositionShape& shape, const T* dy, T* table_gradient);  ///< added to

  // Loss of a token = log(sum over all columns of exp(logit - maximum)) + maximum - target. With the columns split over
  // a tensor group of n ranks, in this order:
  //   cross_entropy_forward; all-reduce (maximum) of rows.maximum;
  //   cross_entropy_rescale; all-reduce (sum) of rows.target; all-reduce (sum) of rows.sum;
  //   cross_entropy_loss and cross_entropy_backward.
  // With one rank the same, without the all-reduces (cross_entropy_rescale then changes nothing).
  /// -> probabilities[tokens, columns] = exp(logit - local maximum), and all of `rows`. May be in place.
  void (*cross_entropy_forward)(const CrossEntropyShape& shape, const T* logits, const std::int32_t* targets,
                                T* probabilities, const CrossEntropyRows<T>& rows);
  /// sum *= exp(local maximum - maximum)
  void (*cross_entropy_rescale)(const CrossEntropyShape& shape, const CrossEntropyRows<T>& rows);
  /// The sum of the losses of all tokens, in double precision; the same on every rank of the group.
  double (*cross_entropy_loss)(const CrossEntropyShape& shape, const CrossEntropyRows<T>& rows);
  /// logits_gradient = weight (softmax - one-hot target); weight = 1 / tokens of the global batch for the mean loss.
  /// May be in place.
  void (*cross_entropy_backward)(const CrossEntropyShape& shape, const T* probabilities, const std::int32_t* targets,
                                 const CrossEntropyRows<T>& rows, double weight, T* logits_gradient);

  /// weights -= learning_rate (gradient + weight_decay weights)
  void (*sgd)(std::int64_t elements, double learning_rate, double weight_decay, const T* gradient, T* weights);
  /// momentum and variance start at zero.
  void (*adamw)(const AdamWShape& shape, const T* gradient, T* momentum, T* variance, T* weights);
};

/// The fastest table this processor can run; found once.
const Kernels<float>& kernels();
/// Every table this processor can run, slowest first.
const std::vector<Kernels<float>>& runnable_kernels();

inline constexpr double kRotaryBase = 10000;  ///< Su et al., RoFormer, arXiv:2104.09864; it decides no operation
/// cosines[p, i] = cos(p base^(-2 i / head_dim)), sines alike; [sequence, head_dim / 2] each.
template <class T>
void rotary_table(std::int64_t sequence, std::int64_t head_dim, double base, T* cosines, T* sines);

}  // namespace executor::cpu
