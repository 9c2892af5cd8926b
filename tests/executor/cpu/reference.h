// The kernels again as the obvious plain loops: the oracle of the tests (T = double), and the speed that the real ones
// have to beat (T = float, tests/bench).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "executor/cpu/kernels.h"

namespace executor::cpu::reference {

template <class T>
void matmul(const MatmulShape& s, const T* a, const T* b, T* c) {
  const std::int64_t lda = s.lda > 0 ? s.lda : s.transpose_a ? s.m : s.k;
  const std::int64_t ldb = s.ldb > 0 ? s.ldb : s.transpose_b ? s.k : s.n;
  const std::int64_t ldc = s.ldc > 0 ? s.ldc : s.n;
  for (std::int64_t i = 0; i < s.batch; ++i, a += s.step_a, b += s.step_b, c += s.step_c) {
    for (std::int64_t row = 0; row < s.m; ++row) {
      for (std::int64_t column = 0; column < s.n; ++column) {
        T sum = s.accumulate ? c[row * ldc + column] : T(0);
        for (std::int64_t p = 0; p < s.k; ++p) {
          sum += (s.transpose_a ? a[p * lda + row] : a[row * lda + p]) *
                 (s.transpose_b ? b[column * ldb + p] : b[p * ldb + column]);
        }
        c[row * ldc + column] = sum;
      }
    }
  }
}

/// Where row `token` of one head starts in the packed projection.
struct PackedHead {
  PackedHead(const AttentionShape& s, std::int64_t head)
      : query(head * s.head_dim),
        key((s.heads + head * s.kv_heads / s.heads) * s.head_dim),
        value(key + s.kv_heads * s.head_dim) {}
  std::int64_t query, key, value;
};

template <class T>
void attention_forward(const AttentionShape& s, const T* qkv, T* probabilities, T* context) {
  const std::int64_t n = s.sequence, d = s.head_dim, packed = s.packed_columns();
  for (std::int64_t batch_head = 0; batch_head < s.batch * s.heads; ++batch_head) {
    const std::int64_t first = batch_head / s.heads * n, head = batch_head % s.heads;
    const PackedHead at(s, head);
    for (std::int64_t i = 0; i < n; ++i) {
      T* p = probabilities + (batch_head * n + i) * n;
      T maximum = -std::numeric_limits<T>::infinity(), sum = 0;
      const std::int64_t seen = s.window > 0 ? std::max<std::int64_t>(0, i + 1 - s.window) : 0;
      std::fill_n(p, seen, T(0));
      for (std::int64_t j = seen; j <= i; ++j) {
        p[j] = 0;
        for (std::int64_t c = 0; c < d; ++c) {
          p[j] += qkv[(first + i) * packed + at.query + c] * qkv[(first + j) * packed + at.key + c];
        }
        p[j] /= std::sqrt(static_cast<T>(d));
        maximum = std::max(maximum, p[j]);
      }
      for (std::int64_t j = seen; j <= i; ++j) sum += p[j] = std::exp(p[j] - maximum);
      for (std::int64_t j = seen; j <= i; ++j) p[j] /= sum;
      for (std::int64_t c = 0; context != nullptr && c < d; ++c) {
        T out = 0;
        for (std::int64_t j = 0; j <= i; ++j) out += p[j] * qkv[(first + j) * packed + at.value + c];
        context[(first + i) * s.query_columns() + head * d + c] = out;
      }
    }
  }
}

template <class T>
void attention_backward(const AttentionShape& s, const T* qkv, const T* probabilities, const T* /*context*/,
                        const T* context_gradient, T* d_qkv, T* dp) {
  const std::int64_t n = s.sequence, d = s.head_dim, packed = s.packed_columns();
  std::fill_n(d_qkv, s.tokens() * packed, T(0));
  for (std::int64_t batch_head = 0; batch_head < s.batch * s.heads; ++batch_head) {
    const std::int64_t first = batch_head / s.heads * n, head = batch_head % s.heads;
    const PackedHead at(s, head);
    for (std::int64_t i = 0; i < n; ++i) {
      const T* p = probabilities + (batch_head * n + i) * n;
      const T* d_out = context_gradient + (first + i) * s.query_columns() + head * d;
      T mean = 0;
      for (std::int64_t j = 0; j <= i; ++j) {
        dp[j] = 0;
        for (std::int64_t c = 0; c < d; ++c) {
          dp[j] += d_out[c] * qkv[(first + j) * packed + at.value + c];
          d_qkv[(first + j) * packed + at.value + c] += p[j] * d_out[c];
        }
        mean += p[j] * dp[j];
      }
      for (std::int64_t j = 0; j <= i; ++j) {
        const T d_score = p[j] * (dp[j] - mean) / std::sqrt(static_cast<T>(d));
        for (std::int64_t c = 0; c < d; ++c) {
          d_qkv[(first + i) * packed + at.query + c] += d_score * qkv[(first + j) * packed + at.key + c];
          d_qkv[(first + j) * packed + at.key + c] += d_score * qkv[(first + i) * packed + at.query + c];
        }
      }
    }
  }
}

/// Score of query i with key j, of one head.
template <class T>
T block_score(const AttentionBlock& b, std::int64_t head, const T* query, const T* key) {
  T score = 0;
  for (std::int64_t c = 0; c < b.head_dim; ++c) {
    score += query[head * b.head_dim + c] * key[head / (b.heads / b.kv_heads) * b.head_dim + c];
  }
  return score / std::sqrt(static_cast<T>(b.head_dim));
}

template <class T>
void attention_block_forward(const AttentionBlock& b, const T* queries, const T* keys, const T* values, T* context,
                             T* log_sums, T* /*workspace*/) {
  for (std::int64_t i = 0; i < b.queries; ++i) {
    const std::int64_t seen = std::min(b.keys, b.seen + i);
    for (std::int64_t head = 0; head < b.heads; ++head) {
      T sum = 0;
      T* out = context + i * b.columns() + head * b.head_dim;
      std::fill_n(out, b.head_dim, T(0));
      for (std::int64_t j = 0; j < seen; ++j) {
        const T p = std::exp(block_score(b, head, queries + i * b.query_stride, keys + j * b.key_stride));
        sum += p;
        const T* value = values + j * b.key_stride + head / (b.heads / b.kv_heads) * b.head_dim;
        for (std::int64_t c = 0; c < b.head_dim; ++c) out[c] += p * value[c];
      }
      for (std::int64_t c = 0; c < b.head_dim; ++c) out[c] /= sum;
      log_sums[i * b.heads + head] = std::log(sum);
    }
  }
}

template <class T>
void attention_block_backward(const AttentionBlock& b, const T* queries, const T* keys, const T* values,
                              const T* context, const T* log_sums, const T* context_gradient, T* query_gradient,
                              T* key_gradient, T* value_gradient, T* /*workspace*/) {
  for (std::int64_t i = 0; i < b.queries; ++i) {
    const std::int64_t seen = std::min(b.keys, b.seen + i);
    for (std::int64_t head = 0; head < b.heads; ++head) {
      const std::int64_t out = i * b.columns() + head * b.head_dim, kv = head / (b.heads / b.kv_heads) * b.head_dim;
      T mean = 0;
      for (std::int64_t c = 0; c < b.head_dim; ++c) mean += context[out + c] * context_gradient[out + c];
      for (std::int64_t j = 0; j < seen; ++j) {
        const T* query = queries + i * b.query_stride;
        const T* key = keys + j * b.key_stride;
        const T p = std::exp(block_score(b, head, query, key) - log_sums[i * b.heads + head]);
        T dp = 0;
        for (std::int64_t c = 0; c < b.head_dim; ++c) {
          dp += context_gradient[out + c] * values[j * b.key_stride + kv + c];
          value_gradient[j * b.key_gradient_stride + kv + c] += p * context_gradient[out + c];
        }
        const T d_score = p * (dp - mean) / std::sqrt(static_cast<T>(b.head_dim));
        for (std::int64_t c = 0; c < b.head_dim; ++c) {
          query_gradient[i * b.query_gradient_stride + head * b.head_dim + c] += d_score * key[kv + c];
          key_gradient[j * b.key_gradient_stride + kv + c] += d_score * query[head * b.head_dim + c];
        }
      }
    }
  }
}

template <class T>
void attention_merge(std::int64_t rows, std::int64_t heads, std::int64_t head_dim, const T* part,
                     const T* part_log_sums, T* context, T* log_sums) {
  for (std::int64_t i = 0; i < rows * heads; ++i) {
    const T own = std::exp(log_sums[i]), other = std::exp(part_log_sums[i]);  // 0 of no keys
    for (std::int64_t c = i * head_dim; c < (i + 1) * head_dim; ++c) {
      context[c] = (own * context[c] + other * part[c]) / (own + other);
    }
    log_sums[i] = std::log(own + other);
  }
}

template <class T>
struct Moments {
  Moments(const NormShape& s, const T* x) {
    const T n = static_cast<T>(s.columns);
    T squares = 0;
    if (s.kind == hw_models::NormKind::kLayerNorm) {
      for (std::int64_t i = 0; i < s.columns; ++i) mean += x[i] / n;
    }
    for (std::int64_t i = 0; i < s.columns; ++i) squares += (x[i] - mean) * (x[i] - mean) / n;
    deviation = std::sqrt(squares + static_cast<T>(s.epsilon));
  }
  T mean = 0, deviation = 0;
};

template <class T>
void norm_forward(const NormShape& s, const T* x, const T* gain, const T* bias, T* y) {
  for (std::int64_t row = 0; row < s.rows; ++row, x += s.columns, y += s.columns) {
    const Moments<T> m(s, x);
    for (std::int64_t i = 0; i < s.columns; ++i) {
      y[i] = (x[i] - m.mean) / m.deviation * gain[i] + (bias != nullptr ? bias[i] : T(0));
    }
  }
}

template <class T>
void norm_backward(const NormShape& s, const T* x, const T* gain, const T* dy, T* dx, T* d_gain, T* d_bias) {
  const T n = static_cast<T>(s.columns);
  for (std::int64_t row = 0; row < s.rows; ++row, x += s.columns, dy += s.columns, dx += s.columns) {
    const Moments<T> m(s, x);
    T mean = 0, projection = 0;
    for (std::int64_t i = 0; i < s.columns; ++i) {
      const T normal = (x[i] - m.mean) / m.deviation;
      if (s.kind == hw_models::NormKind::kLayerNorm) mean += dy[i] * gain[i] / n;
      projection += dy[i] * gain[i] * normal / n;
      d_gain[i] += dy[i] * normal;
      if (d_bias != nullptr) d_bias[i] += dy[i];
    }
    for (std::int64_t i = 0; i < s.columns; ++i) {
      dx[i] = (dy[i] * gain[i] - mean - (x[i] - m.mean) / m.deviation * projection) / m.deviation;
    }
  }
}

template <class T>
T activation(strategies::Activation kind, T x) {
  switch (kind) {
    case strategies::Activation::kGelu:
      return x / 2 *
             (1 + std::tanh(std::sqrt(static_cast<T>(2 / 3.14159265358979323846)) *
                            (x + static_cast<T>(0.044715) * x * x * x)));
    case strategies::Activation::kSilu:
      return x / (1 + std::exp(-x));
    case strategies::Activation::kSquaredRelu:
      return x > 0 ? x * x : T(0);
    case strategies::Activation::kRelu:
      break;
  }
  return x > 0 ? x : T(0);
}

template <class T>
T activation_slope(strategies::Activation kind, T x) {
  switch (kind) {
    case strategies::Activation::kGelu: {
      const T root = std::sqrt(static_cast<T>(2 / 3.14159265358979323846)), cubic = static_cast<T>(0.044715);
      const T t = std::tanh(root * (x + cubic * x * x * x));
      return (1 + t) / 2 + x / 2 * (1 - t * t) * root * (1 + 3 * cubic * x * x);
    }
    case strategies::Activation::kSilu: {
      const T share = 1 / (1 + std::exp(-x));
      return share + x * share * (1 - share);
    }
    case strategies::Activation::kSquaredRelu:
      return x > 0 ? 2 * x : T(0);
    case strategies::Activation::kRelu:
      break;
  }
  return x > 0 ? T(1) : T(0);
}

template <class T>
void activation_forward(const ActivationShape& s, const T* up, T* activated) {
  const std::int64_t wide = s.gated ? 2 * s.columns : s.columns;
  for (std::int64_t row = 0; row < s.rows; ++row) {
    for (std::int64_t i = 0; i < s.columns; ++i) {
      const T factor = s.gated ? up[row * wide + s.columns + i] : T(1);
      activated[row * s.columns + i] = activation(s.activation, up[row * wide + i]) * factor;
    }
  }
}

template <class T>
void activation_backward(const ActivationShape& s, const T* up, const T* dy, T* d_up) {
  const std::int64_t wide = s.gated ? 2 * s.columns : s.columns;
  for (std::int64_t row = 0; row < s.rows; ++row) {
    for (std::int64_t i = 0; i < s.columns; ++i) {
      const T x = up[row * wide + i], d = dy[row * s.columns + i];
      const T factor = s.gated ? up[row * wide + s.columns + i] : T(1);
      d_up[row * wide + i] = d * factor * activation_slope(s.activation, x);
      if (s.gated) d_up[row * wide + s.columns + i] = d * activation(s.activation, x);
    }
  }
}

template <class T>
void rotate(const RotaryShape& s, const T* cosines, const T* sines, T* x, T sign) {
  const std::int64_t half = s.head_dim / 2;
  for (std::int64_t row = 0; row < s.rows; ++row) {
    for (std::int64_t head = 0; head < s.heads; ++head) {
      for (std::int64_t i = 0; i < half; ++i) {
        T& a = x[row * s.stride + head * s.head_dim + i];
        T& b = x[row * s.stride + head * s.head_dim + half + i];
        const T cosine = cosines[row % s.sequence * half + i], sine = sign * sines[row % s.sequence * half + i];
        const T turned = a * cosine - b * sine;
        b = b * cosine + a * sine;
        a = turned;
      }
    }
  }
}
template <class T>
void rotary_forward(const RotaryShape& s, const T* cosines, const T* sines, T* x) {
  rotate(s, cosines, sines, x, T(1));
}
template <class T>
void rotary_backward(const RotaryShape& s, const T* cosines, const T* sines, T* x) {
  rotate(s, cosines, sines, x, T(-1));
}

template <class T>
void add(std::int64_t n, const T* a, const T* b, T* sum) {
  for (std::int64_t i = 0; i < n; ++i) sum[i] = a[i] + b[i];
}
template <class T>
void residual_add(std::int64_t rows, std::int64_t columns, const T* x, const T* bias, const T* stream, T* sum) {
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    sum[i] = x[i] + (bias != nullptr ? bias[i % columns] : T(0)) + stream[i];
  }
}
template <class T>
void bias_add(std::int64_t rows, std::int64_t columns, const T* bias, T* x) {
  for (std::int64_t i = 0; i < rows * columns; ++i) x[i] += bias[i % columns];
}
template <class T>
void bias_gradient(std::int64_t rows, std::int64_t columns, const T* dy, T* d_bias) {
  for (std::int64_t i = 0; i < rows * columns; ++i) d_bias[i % columns] += dy[i];
}
template <class T>
void scale(std::int64_t n, T factor, T* x) {
  for (std::int64_t i = 0; i < n; ++i) x[i] *= factor;
}
template <class T>
void zero(std::int64_t n, T* x) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = 0;
}
template <class T>
void copy(std::int64_t n, const T* from, T* to) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
}
template <class T>
double squared_norm(std::int64_t n, const T* x) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

template <class T>
void embedding_forward(const EmbeddingShape& s, const std::int32_t* ids, const T* table, T* x) {
  for (std::int64_t i = 0; i < s.tokens * s.hidden; ++i) {
    const std::int64_t row = ids[i / s.hidden] - s.first_row;
    x[i] = row >= 0 && row < s.rows ? table[row * s.hidden + i % s.hidden] : T(0);
  }
}
template <class T>
void embedding_backward(const EmbeddingShape& s, const std::int32_t* ids, const T* dx, T* d_table) {
  for (std::int64_t i = 0; i < s.tokens * s.hidden; ++i) {
    const std::int64_t row = ids[i / s.hidden] - s.first_row;
    if (row >= 0 && row < s.rows) d_table[row * s.hidden + i % s.hidden] += dx[i];
  }
}
template <class T>
void position_add(const PositionShape& s, const T* x, const T* table, T* y) {
  for (std::int64_t i = 0; i < s.rows * s.hidden; ++i) {
    y[i] = x[i] + table[(s.first_row + i / s.hidden) % s.sequence * s.hidden + i % s.hidden];
  }
}
template <class T>
void position_gradient(const PositionShape& s, const T* dy, T* d_table) {
  for (std::int64_t i = 0; i < s.rows * s.hidden; ++i) {
    d_table[(s.first_row + i / s.hidden) % s.sequence * s.hidden + i % s.hidden] += dy[i];
  }
}

template <class T>
void cross_entropy_forward(const CrossEntropyShape& s, const T* logits, const std::int32_t* targets, T* p,
                           const CrossEntropyRows<T>& rows) {
  for (std::int64_t token = 0; token < s.tokens; ++token) {
    T maximum = -std::numeric_limits<T>::infinity();
    rows.target[token] = rows.sum[token] = 0;
    for (std::int64_t i = 0; i < s.columns && s.first_column + i < s.vocabulary; ++i) {
      maximum = std::max(maximum, logits[token * s.columns + i]);
      if (targets[token] == s.first_column + i) rows.target[token] = logits[token * s.columns + i];
    }
    for (std::int64_t i = 0; i < s.columns; ++i) {
      const bool padding = s.first_column + i >= s.vocabulary;
      p[token * s.columns + i] = padding ? T(0) : std::exp(logits[token * s.columns + i] - maximum);
      rows.sum[token] += p[token * s.columns + i];
    }
    rows.local_maximum[token] = rows.maximum[token] = maximum;
  }
}
template <class T>
void cross_entropy_rescale(const CrossEntropyShape& s, const CrossEntropyRows<T>& rows) {
  for (std::int64_t i = 0; i < s.tokens; ++i) rows.sum[i] *= std::exp(rows.local_maximum[i] - rows.maximum[i]);
}
template <class T>
double cross_entropy_loss(const CrossEntropyShape& s, const CrossEntropyRows<T>& rows) {
  double loss = 0;
  for (std::int64_t i = 0; i < s.tokens; ++i) {
    loss += static_cast<double>(std::log(rows.sum[i]) + rows.maximum[i] - rows.target[i]);
  }
  return loss;
}
template <class T>
void cross_entropy_backward(const CrossEntropyShape& s, const T* p, const std::int32_t* targets,
                            const CrossEntropyRows<T>& rows, double weight, T* d_logits) {
  for (std::int64_t i = 0; i < s.tokens * s.columns; ++i) {
    const std::int64_t token = i / s.columns;
    const T softmax = p[i] * std::exp(rows.local_maximum[token] - rows.maximum[token]) / rows.sum[token];
    const bool target = targets[token] == s.first_column + i % s.columns;
    d_logits[i] = static_cast<T>(weight) * (softmax - (target ? T(1) : T(0)));
  }
}

template <class T>
void sgd(std::int64_t n, double rate, double decay, const T* gradient, T* weights) {
  for (std::int64_t i = 0; i < n; ++i) {
    weights[i] -= static_cast<T>(rate) * (gradient[i] + static_cast<T>(decay) * weights[i]);
  }
}
template <class T>
void adamw(const AdamWShape& s, const T* gradient, T* momentum, T* variance, T* weights) {
  const auto t = static_cast<double>(s.step);
  for (std::int64_t i = 0; i < s.elements; ++i) {
    const double g = static_cast<double>(gradient[i]), w = static_cast<double>(weights[i]);
    const double m = s.beta1 * static_cast<double>(momentum[i]) + (1 - s.beta1) * g;
    const double v = s.beta2 * static_cast<double>(variance[i]) + (1 - s.beta2) * g * g;
    const double direction = m / (1 - std::pow(s.beta1, t)) / (std::sqrt(v / (1 - std::pow(s.beta2, t))) + s.epsilon);
    momentum[i] = static_cast<T>(m);
    variance[i] = static_cast<T>(v);
    weights[i] = static_cast<T>(w - s.learning_rate * (direction + s.weight_decay * w));
  }
}

template <class T>
Kernels<T> kernels() {
  return {.name = "plain loops",
          .matmul = matmul<T>,
          .attention_forward = attention_forward<T>,
          .attention_backward = attention_backward<T>,
          .attention_block_forward = attention_block_forward<T>,
          .attention_block_backward = attention_block_backward<T>,
          .attention_merge = attention_merge<T>,
          .norm_forward = norm_forward<T>,
          .norm_backward = norm_backward<T>,
          .activation_forward = activation_forward<T>,
          .activation_backward = activation_backward<T>,
          .rotary_forward = rotary_forward<T>,
          .rotary_backward = rotary_backward<T>,
          .add = add<T>,
          .bias_add = bias_add<T>,
          .residual_add = residual_add<T>,
          .bias_gradient = bias_gradient<T>,
          .scale = scale<T>,
          .zero = zero<T>,
          .copy = copy<T>,
          .squared_norm = squared_norm<T>,
          .embedding_forward = embedding_forward<T>,
          .embedding_backward = embedding_backward<T>,
          .position_add = position_add<T>,
          .position_gradient = position_gradient<T>,
          .cross_entropy_forward = cross_entropy_forward<T>,
          .cross_entropy_rescale = cross_entropy_rescale<T>,
          .cross_entropy_loss = cross_entropy_loss<T>,
          .cross_entropy_backward = cross_entropy_backward<T>,
          .sgd = sgd<T>,
          .adamw = adamw<T>};
}

}  // namespace executor::cpu::reference
