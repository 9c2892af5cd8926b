#include "executor/communicator/communicator.h"

namespace executor {

const char* name(Element element) {
  switch (element) {
    case Element::kFloat32:
      return "float32";
    case Element::kFloat64:
      return "float64";
    case Element::kInt64:
      return "int64";
  }
  return "?";
}

std::size_t size_of(Element element) { return element == Element::kFloat32 ? 4 : 8; }

const char* name(Reduction reduction) { return reduction == Reduction::kSum ? "sum" : "max"; }

std::vector<std::size_t> even_blocks(std::size_t bytes, std::size_t members, std::size_t element_bytes) {
  const std::size_t elements = bytes / element_bytes, rest = bytes % element_bytes;
  std::vector<std::size_t> blocks(members);
  for (std::size_t i = 0; i < members; ++i) {
    blocks[i] = (elements / members + (i < elements % members ? 1 : 0)) * element_bytes;
  }
  blocks.back() += rest;  // bytes that are no whole element: only where nothing is reduced
  return blocks;
}

double all_reduce(Communicator& communicator, GroupHandle group, double value, Reduction reduction) {
  communicator.wait(communicator.post({.kind = CollectiveKind::kAllReduce,
                                       .group = group,
                                       .data = std::as_writable_bytes(std::span(&value, 1)),
                                       .element = Element::kFloat64,
                                       .reduction = reduction}));
  return value;
}

}  // namespace executor
