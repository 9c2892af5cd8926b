// The largest sizes of a model that are believed, a few times beyond anything trained; more is a slip of the keyboard.
#pragma once

#include <cstdint>

namespace scenarios {

inline constexpr std::int64_t kMostLayers = 10'000;
inline constexpr std::int64_t kWidest = 1'000'000;  ///< hidden size, head width, latent rank
inline constexpr std::int64_t kWidestMlp = 10'000'000;
inline constexpr std::int64_t kMostHeads = 100'000;
inline constexpr std::int64_t kMostExperts = 100'000;
inline constexpr std::int64_t kLargestVocabulary = 100'000'000;
inline constexpr std::int64_t kMostPositions = 1'000'000'000;

}  // namespace scenarios
