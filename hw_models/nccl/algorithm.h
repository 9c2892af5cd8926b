// Names of NCCL's algorithms and protocols, and what NCCL_ALGO and NCCL_PROTO allow.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hw_models {

/// The last two are ours: all-to-all and send/receive are messages, which NCCL's tuning does not model.
enum class NcclAlgorithm : std::uint8_t {
  kTree,
  kRing,
  kCollNetDirect,
  kCollNetChain,
  kNvls,
  kNvlsTree,
  kPat,
  kMessages,
  kNone
};
enum class NcclProtocol : std::uint8_t { kLl, kLl128, kSimple };

inline constexpr std::array<NcclAlgorithm, 7> kNcclAlgorithms{
    NcclAlgorithm::kTree,         NcclAlgorithm::kRing, NcclAlgorithm::kCollNetDirect,
    NcclAlgorithm::kCollNetChain, NcclAlgorithm::kNvls, NcclAlgorithm::kNvlsTree,
    NcclAlgorithm::kPat};
inline constexpr std::array<NcclProtocol, 3> kNcclProtocols{NcclProtocol::kLl, NcclProtocol::kLl128,
                                                            NcclProtocol::kSimple};

/// The NVSwitches add: NVLS and NVLSTree.
inline bool is_nvls(NcclAlgorithm algorithm) {
  return algorithm == NcclAlgorithm::kNvls || algorithm == NcclAlgorithm::kNvlsTree;
}

/// As NCCL writes them: "Tree", "NVLSTree", "LL128".
const char* name(NcclAlgorithm algorithm);
const char* name(NcclProtocol protocol);

/// Which are allowed.
struct NcclChoice {
  std::bitset<7> algorithms = std::bitset<7>().set();
  std::bitset<3> protocols = std::bitset<3>().set();

  bool allows(NcclAlgorithm algorithm, NcclProtocol protocol) const;
};

/// What release 2.`minor` knows: NVLS came with 2.17, its tree with 2.18, PAT with 2.23 (NCCL's release notes).
NcclChoice known_to_nccl(int minor);
/// The release whose constants constants.h holds.
inline constexpr int kNewestNccl = 30;

/// The words of NCCL_ALGO and NCCL_PROTO: a list of names, "Ring,Tree", or "^NVLS,PAT": all but these. Case does not
/// matter. nullopt: a word is none of them, or nothing is left.
std::optional<std::bitset<7>> parse_nccl_algorithms(std::string_view words);
std::optional<std::bitset<3>> parse_nccl_protocols(std::string_view words);

}  // namespace hw_models
