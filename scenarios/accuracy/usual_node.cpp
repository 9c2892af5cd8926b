#include "scenarios/accuracy/usual_node.h"

#include <algorithm>
#include <array>

namespace scenarios {
namespace {

struct GpuNode {
  std::string_view gpu, node;
};

constexpr std::array<GpuNode, 21> kNodes{{{"a100-sxm-80gb", "dgx-a100"},
                                          {"a100-sxm-40gb", "dgx-a100-40gb"},
                                          {"a100-pcie-80gb", "pcie-a100-8"},
                                          {"a800-sxm-80gb", "hgx-a800"},
                                          {"h100-sxm-80gb", "dgx-h100"},
                                          {"h100-sxm-96gb-hbm2e", "hgx-h100-96gb"},
                                          {"h100-pcie-80gb", "pcie-h100-8"},
                                          {"h20", "hgx-h20"},
                                          {"h800", "hgx-h800"},
                                          {"h200-sxm", "dgx-h200"},
                                          {"b200-sxm", "dgx-b200"},
                                          {"b300-sxm", "dgx-b300"},
                                          {"gb200", "gb200-nvl72"},
                                          {"gb300", "gb300-nvl72"},
                                          {"l40s", "pcie-l40s-8"},
                                          {"rtx-4090", "pcie-rtx4090-8"},
                                          {"mi300x", "mi300x-platform"},
                                          {"mi325x", "mi325x-platform"},
                                          {"mi355x", "mi355x-platform"},
                                          {"v100-sxm2-32gb", "dgx-2"},
                                          {"v100-sxm2-16gb", "dgx-1v"}}};

}  // namespace

std::optional<std::string> usual_node(std::string_view gpu) {
  const auto found = std::ranges::find(kNodes, gpu, &GpuNode::gpu);
  if (found == kNodes.end()) return std::nullopt;
  return std::string(found->node);
}

}  // namespace scenarios
