#include "executor/corpus.h"

#include <cstddef>
#include <stdexcept>
#include <utility>

#include "executor/random.h"

namespace executor {

Corpus::Corpus(std::string bytes, std::int64_t sequence, std::uint64_t seed)
    : bytes_(std::move(bytes)), sequence_(sequence), seed_(seed) {
  if (static_cast<std::int64_t>(bytes_.size()) <= sequence_) {
    throw std::invalid_argument("a corpus must be longer than a sequence");
  }
}

void Corpus::sample(std::int64_t index, std::span<std::int32_t> ids, std::span<std::int32_t> targets) const {
  const auto length = static_cast<std::size_t>(sequence_);
  if (ids.size() != length || targets.size() != length) throw std::logic_error("a sample is one sequence");
  const std::uint64_t places = bytes_.size() - length;
  const std::size_t begin = RandomStream(seed_, "samples").bits(static_cast<std::uint64_t>(index)) % places;
  for (std::size_t i = 0; i < length; ++i) {
    ids[i] = static_cast<unsigned char>(bytes_[begin + i]);
    targets[i] = static_cast<unsigned char>(bytes_[begin + i + 1]);
  }
}

}  // namespace executor
