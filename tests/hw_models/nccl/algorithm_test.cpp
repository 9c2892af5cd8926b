#include "hw_models/nccl/algorithm.h"

#include <gtest/gtest.h>

#include <string>

namespace hw_models {
namespace {

TEST(NcclAlgorithm, EveryNameIsReadBackAlone) {
  for (const NcclAlgorithm algorithm : kNcclAlgorithms) {
    const auto read = parse_nccl_algorithms(name(algorithm));
    ASSERT_TRUE(read) << name(algorithm);
    EXPECT_EQ(read->count(), 1U);
    EXPECT_TRUE(read->test(static_cast<std::size_t>(algorithm)));
  }
  for (const NcclProtocol protocol : kNcclProtocols) {
    EXPECT_EQ(parse_nccl_protocols(name(protocol))->count(), 1U) << name(protocol);
  }
}

TEST(NcclAlgorithm, ListsAndExclusions) {
  EXPECT_EQ(parse_nccl_algorithms("ring,TREE")->count(), 2U);
  const auto without = parse_nccl_algorithms("^NVLS,NVLSTree");
  EXPECT_EQ(without->count(), 5U);
  EXPECT_FALSE(without->test(static_cast<std::size_t>(NcclAlgorithm::kNvls)));
  EXPECT_EQ(parse_nccl_protocols("^LL")->to_string(), "110");
}

TEST(NcclAlgorithm, ReleasesKnowWhatCameBefore) {
  const auto known = [](int release) { return known_to_nccl(release).algorithms.count(); };
  EXPECT_EQ(known(kNewestNccl), 7U);
  EXPECT_EQ(known(23), 7U);
  EXPECT_EQ(known(22), 6U);
  EXPECT_EQ(known(17), 5U);
  EXPECT_EQ(known(8), 4U);
  EXPECT_TRUE(known_to_nccl(17).allows(NcclAlgorithm::kNvls, NcclProtocol::kSimple));
}

TEST(NcclAlgorithm, OtherWordsAreRefused) {
  for (const char* words : {"", ",", "Ring,", "rings", "Ring Tree", "^", "LL64"}) {
    EXPECT_FALSE(parse_nccl_algorithms(words)) << words;
    EXPECT_FALSE(parse_nccl_protocols(words)) << words;
  }
  EXPECT_FALSE(parse_nccl_protocols("^LL,LL128,Simple"));  // nothing left
}

}  // namespace
}  // namespace hw_models
