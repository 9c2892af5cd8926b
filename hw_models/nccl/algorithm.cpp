#include "hw_models/nccl/algorithm.h"

#include <algorithm>
#include <cctype>

namespace hw_models {
namespace {

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

template <class T, std::size_t N>
std::optional<std::bitset<N>> parse(std::string_view words, const std::array<T, N>& known) {
  const bool excluded = words.starts_with('^');
  if (excluded) words.remove_prefix(1);
  std::bitset<N> named;
  for (;;) {
    const std::size_t comma = words.find(',');
    const std::string_view word = words.substr(0, comma);
    const auto found = std::ranges::find_if(known, [word](T one) { return same_word(name(one), word); });
    if (found == known.end()) return std::nullopt;
    named.set(static_cast<std::size_t>(found - known.begin()));
    if (comma == std::string_view::npos) break;
    words.remove_prefix(comma + 1);
  }
  if (excluded) named.flip();
  return named.any() ? std::optional(named) : std::nullopt;
}

}  // namespace

const char* name(NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::kTree:
      return "Tree";
    case NcclAlgorithm::kRing:
      return "Ring";
    case NcclAlgorithm::kCollNetDirect:
      return "CollNetDirect";
    case NcclAlgorithm::kCollNetChain:
      return "CollNetChain";
    case NcclAlgorithm::kNvls:
      return "NVLS";
    case NcclAlgorithm::kNvlsTree:
      return "NVLSTree";
    case NcclAlgorithm::kPat:
      return "PAT";
    case NcclAlgorithm::kMessages:
      return "messages";
    case NcclAlgorithm::kNone:
      break;
  }
  return "none";
}

const char* name(NcclProtocol protocol) {
  switch (protocol) {
    case NcclProtocol::kLl:
      return "LL";
    case NcclProtocol::kLl128:
      return "LL128";
    case NcclProtocol::kSimple:
      break;
  }
  return "Simple";
}

bool NcclChoice::allows(NcclAlgorithm algorithm, NcclProtocol protocol) const {
  return algorithms.test(static_cast<std::size_t>(algorithm)) && protocols.test(static_cast<std::size_t>(protocol));
}

NcclChoice known_to_nccl(int minor) {
  struct Since {
    NcclAlgorithm algorithm;
    int minor;
  };
  constexpr std::array<Since, 3> kLater{
      {{NcclAlgorithm::kNvls, 17}, {NcclAlgorithm::kNvlsTree, 18}, {NcclAlgorithm::kPat, 23}}};
  NcclChoice choice;
  for (const Since& later : kLater)
    choice.algorithms.set(static_cast<std::size_t>(later.algorithm), minor >= later.minor);
  return choice;
}

std::optional<std::bitset<7>> parse_nccl_algorithms(std::string_view words) { return parse(words, kNcclAlgorithms); }
std::optional<std::bitset<3>> parse_nccl_protocols(std::string_view words) { return parse(words, kNcclProtocols); }

}  // namespace hw_models
