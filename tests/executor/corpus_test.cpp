#include "executor/corpus.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <vector>

namespace executor {
namespace {

struct Sample {
  std::vector<std::int32_t> ids, targets;
};

Sample sample(const Corpus& corpus, std::int64_t index) {
  Sample s{std::vector<std::int32_t>(static_cast<std::size_t>(corpus.sequence())),
           std::vector<std::int32_t>(static_cast<std::size_t>(corpus.sequence()))};
  corpus.sample(index, s.ids, s.targets);
  return s;
}

TEST(Corpus, TargetsAreTheNextBytes) {
  const Corpus corpus("abcdefghij\xff", 4, 1);
  std::set<std::int32_t> seen;
  for (std::int64_t i = 0; i < 200; ++i) {
    const Sample s = sample(corpus, i);
    for (std::size_t j = 0; j + 1 < s.ids.size(); ++j) EXPECT_EQ(s.targets[j], s.ids[j + 1]);
    seen.insert(s.targets.begin(), s.targets.end());
    seen.insert(s.ids.front());
  }
  EXPECT_EQ(seen.size(), 11U) << "every place is drawn, the last byte too";
  EXPECT_TRUE(seen.contains(255));
}

TEST(Corpus, SamplesDependOnSeedAndIndexAlone) {
  const std::string bytes(default_corpus());
  const Corpus a(bytes, 32, 1), b(bytes, 32, 2);
  EXPECT_EQ(sample(a, 5).ids, sample(Corpus(bytes, 32, 1), 5).ids);
  EXPECT_NE(sample(a, 5).ids, sample(a, 6).ids);
  EXPECT_NE(sample(a, 5).ids, sample(b, 5).ids);
}

TEST(Corpus, HoldsOneSequenceAtLeast) {
  EXPECT_THROW(Corpus("abcd", 4, 1), std::invalid_argument);
  EXPECT_EQ(sample(Corpus("abcde", 4, 1), 0).targets, (std::vector<std::int32_t>{'b', 'c', 'd', 'e'}));
}

TEST(Corpus, DefaultIsTheDocumentation) {
  EXPECT_GT(default_corpus().size(), 50'000U);
  EXPECT_NE(default_corpus().find("# Architecture"), std::string_view::npos);
}

}  // namespace
}  // namespace executor
