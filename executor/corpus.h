// The bytes a model is trained on, and which of them a sample holds.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace executor {

/// One token per byte: ids 0 to 255.
inline constexpr std::int64_t kByteVocabulary = 256;

class Corpus {
 public:
  /// `bytes` must hold more than `sequence` bytes: a sample is a run of `sequence` + 1.
  Corpus(std::string bytes, std::int64_t sequence, std::uint64_t seed);

  /// Sample `index` of the whole run (step x global batch + number in the batch): `ids` and what follows each of them,
  /// `targets`; both hold one sequence. A function of seed and index alone.
  void sample(std::int64_t index, std::span<std::int32_t> ids, std::span<std::int32_t> targets) const;
  std::int64_t sequence() const { return sequence_; }

 private:
  std::string bytes_;
  std::int64_t sequence_;
  std::uint64_t seed_;
};

/// This project's documentation, compiled in: what is trained on where the scenario names no file.
std::string_view default_corpus();

}  // namespace executor
