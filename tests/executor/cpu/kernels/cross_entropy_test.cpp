#include "tests/executor/cpu/kernel_arrays.h"

namespace executor::cpu {
namespace {

constexpr std::int64_t kTokens = 6, kVocabulary = 21;

/// The columns of one rank out of `ranks`, padded to `columns` each.
CrossEntropyShape slice(std::int64_t rank, std::int64_t columns) {
  return {.tokens = kTokens, .columns = columns, .first_column = rank * columns, .vocabulary = kVocabulary};
}

template <class T>
CrossEntropyRows<T> rows_in(T* memory) {
  return {memory, memory + kTokens, memory + 2 * kTokens, memory + 3 * kTokens};
}

TEST(CrossEntropy, LikePlainLoops) {
  const std::vector<std::int32_t> targets = random_ids(kTokens, kVocabulary, 1);
  // All columns, with padding, the middle of the vocabulary, and nothing but padding.
  for (const CrossEntropyShape& s : {slice(0, 21), slice(0, 30), slice(1, 8), slice(2, 12)}) {
    Values logits = random_values(kTokens * s.columns, 2);
    for (double& x : logits) x *= 20;
    const std::string what = "first column " + std::to_string(s.first_column);
    const bool empty = s.first_column >= kVocabulary;
    const Values out = unset(kTokens * s.columns);
    const std::vector<Values> values = {logits, out, unset(4 * kTokens), out};
    expect_like_plain_loops(what, values, 3e-6, [&](const auto& kernels, auto& a) {
      const auto rows = rows_in(a[2]);
      kernels.cross_entropy_forward(s, a[0], targets.data(), a[1], rows);
      for (std::int64_t i = 0; i < kTokens; ++i) {  // as if another rank had a larger logit, or the only one
        if (empty) {
          EXPECT_EQ(rows.maximum[i], -std::numeric_limits<double>::infinity());
          rows.local_maximum[i] = -1000;  // expect_close compares no infinities
        }
        rows.maximum[i] = empty ? 3 : rows.maximum[i] + 1;
      }
      kernels.cross_entropy_rescale(s, rows);
      if (empty) std::fill_n(rows.sum, kTokens, 1);
      kernels.cross_entropy_backward(s, a[1], targets.data(), rows, 0.125, a[3]);
    });
  }
}

TEST(CrossEntropy, InPlace) {
  const std::vector<std::int32_t> targets = random_ids(kTokens, kVocabulary, 1);
  const CrossEntropyShape s = slice(0, 21);
  const Values logits = random_values(kTokens * s.columns, 2);
  for (const Kernels<float>& kernels : runnable_kernels()) {
    std::vector<float> x(logits.begin(), logits.end()), p(x.size()), d(x.size()), a(4 * kTokens), b(4 * kTokens);
    kernels.cross_entropy_forward(s, x.data(), targets.data(), p.data(), rows_in(a.data()));
    kernels.cross_entropy_backward(s, p.data(), targets.data(), rows_in(a.data()), 1, d.data());
    kernels.cross_entropy_forward(s, x.data(), targets.data(), x.data(), rows_in(b.data()));
    EXPECT_EQ(x, p) << kernels.name;
    EXPECT_EQ(a, b) << kernels.name;
    kernels.cross_entropy_backward(s, x.data(), targets.data(), rows_in(b.data()), 1, x.data());
    EXPECT_EQ(x, d) << kernels.name;
  }
}

/// Loss and gradient of `ranks` ranks that hold `columns` columns each, the all-reduces done by hand.
template <class T>
struct Split {
  Split(const Kernels<T>& kernels, const std::vector<T>& logits, std::int64_t width, std::int64_t ranks,
        const std::vector<std::int32_t>& targets, double weight) {
    const std::int64_t columns = width / ranks;
    std::vector<std::vector<T>> memory(static_cast<std::size_t>(ranks), std::vector<T>(4 * kTokens)), parts;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      std::vector<T>& part = parts.emplace_back();
      for (std::int64_t i = 0; i < kTokens * columns; ++i) {
        part.push_back(logits[static_cast<std::size_t>(i / columns * width + rank * columns + i % columns)]);
      }
      kernels.cross_entropy_forward(slice(rank, columns), part.data(), targets.data(), part.data(), at(memory, rank));
    }
    reduce(
        memory, [](const CrossEntropyRows<T>& r) { return r.maximum; }, [](T a, T b) { return std::max(a, b); });
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      kernels.cross_entropy_rescale(slice(rank, columns), at(memory, rank));
    }
    reduce(
        memory, [](const CrossEntropyRows<T>& r) { return r.target; }, [](T a, T b) { return a + b; });
    reduce(
        memory, [](const CrossEntropyRows<T>& r) { return r.sum; }, [](T a, T b) { return a + b; });
    loss = kernels.cross_entropy_loss(slice(0, columns), at(memory, 0));
    gradient.resize(logits.size());
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      std::vector<T>& part = parts[static_cast<std::size_t>(rank)];
      EXPECT_EQ(kernels.cross_entropy_loss(slice(rank, columns), at(memory, rank)), loss) << rank;
      kernels.cross_entropy_backward(slice(rank, columns), part.data(), targets.data(), at(memory, rank), weight,
                                     part.data());
      for (std::int64_t i = 0; i < kTokens * columns; ++i) {
        gradient[static_cast<std::size_t>(i / columns * width + rank * columns + i % columns)] =
            part[static_cast<std::size_t>(i)];
      }
    }
  }

  double loss = 0;
  std::vector<T> gradient;

 private:
  static CrossEntropyRows<T> at(std::vector<std::vector<T>>& memory, std::int64_t rank) {
    return rows_in(memory[static_cast<std::size_t>(rank)].data());
  }
  template <class Field, class Combine>
  static void reduce(std::vector<std::vector<T>>& memory, Field field, Combine combine) {
    for (std::int64_t i = 0; i < kTokens; ++i) {
      T result = field(rows_in(memory[0].data()))[i];
      for (std::size_t r = 1; r < memory.size(); ++r) result = combine(result, field(rows_in(memory[r].data()))[i]);
      for (std::vector<T>& rank : memory) field(rows_in(rank.data()))[i] = result;
    }
  }
};

TEST(CrossEntropy, AnySplitOfTheVocabularyGivesTheSameLoss) {
  const std::vector<std::int32_t> targets = random_ids(kTokens, kVocabulary, 3);
  constexpr std::int64_t kWidth = 32;  // of 4 ranks, the last one holds padding only
  Values logits = random_values(kTokens * kWidth, 4);
  for (double& x : logits) x *= 10;
  const Split<double> whole(reference::kernels<double>(), logits, kWidth, 1, targets, 1);
  double direct = 0;
  for (std::size_t i = 0; i < kTokens; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < kVocabulary; ++j) sum += std::exp(logits[i * kWidth + j]);
    direct += std::log(sum) - logits[i * kWidth + static_cast<std::size_t>(targets[i])];
  }
  EXPECT_NEAR(whole.loss, direct, 1e-11);
  for (const std::int64_t ranks : {1, 2, 4}) {
    const Split<double> wide(float64::make_table(), logits, kWidth, ranks, targets, 1);
    EXPECT_NEAR(wide.loss, whole.loss, 1e-11) << ranks;
    expect_close(whole.gradient, wide.gradient, 1e-12, "double");
    const std::vector<float> narrow(logits.begin(), logits.end());
    for (const Kernels<float>& kernels : runnable_kernels()) {
      const Split<float> split(kernels, narrow, kWidth, ranks, targets, 1);
      EXPECT_NEAR(split.loss, whole.loss, 1e-6 * whole.loss) << kernels.name << ' ' << ranks;
      expect_close(whole.gradient, split.gradient, 2e-6, std::string(kernels.name));
    }
  }
}

TEST(CrossEntropy, BackwardLikeFiniteDifferences) {
  const Kernels<double> kernels = float64::make_table();
  const std::vector<std::int32_t> targets = random_ids(kTokens, kVocabulary, 3);
  const Values logits = random_values(kTokens * 24, 4);
  const Split<double> at(kernels, logits, 24, 2, targets, 0.25);
  expect_gradient("logits", logits, {0.25}, at.gradient,
                  [&](const Values& x) { return Values{Split<double>(kernels, x, 24, 2, targets, 0.25).loss}; });
}

}  // namespace
}  // namespace executor::cpu
