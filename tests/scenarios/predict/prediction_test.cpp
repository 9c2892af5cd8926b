// One layer of the 22B model on a DGX A100 against Korthikanti et al. (arXiv:2205.05198), Table 4: tensor 8,
// micro-batch 4, 2048 tokens, unfused attention with dropout, communication included.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "scenarios/predict/prediction.h"

namespace scenarios {
namespace {

struct PublishedLayer {
  const char* recompute;
  bool sequence_parallel;
  double forward_ms, backward_ms;
};

constexpr PublishedLayer kLayers[] = {{"none", false, 7.7, 11.9},
                                      {"none", true, 7.2, 11.8},
                                      {"full", false, 7.7, 19.5},
                                      {"selective", false, 7.7, 13.2},
                                      {"selective", true, 7.2, 13.1}};

/// From the begin of the first to the end of the last operation of a middle layer in blocks of `kind`.
double layer_ms(const Prediction& prediction, strategies::BlockKind kind) {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0;
  const strategies::Role& role = prediction.program.roles.front();
  for (const strategies::OperationRecord& record : prediction.result.records) {
    const strategies::Block& block = role.blocks[role.schedule[record.instance.action].block];
    if (block.kind != kind || block.operations[record.instance.operation.value].origin.layer != 20) continue;
    begin = std::min(begin, record.begin_ns);
    end = std::max(end, record.end_ns);
  }
  return static_cast<double>(end - begin) * 1e-6;
}

TEST(LayerTime, AgreesWithThePublishedLayer) {
  const Catalog catalog;
  for (const PublishedLayer& published : kLayers) {
    const std::string text = fmt::format(
        "model: megatron-22b\n"
        "training: {{sequence_length: 2048, global_batch: 4, precision: fp16}}\n"
        "cluster: {{node: dgx-a100, nodes: 1}}\n"
        "plan: {{tensor: 8, micro_batch: 4, recompute: {}, sequence_parallel: {}}}\n"
        "software: megatron-lm-2022\n",
        published.recompute, published.sequence_parallel);
    const Prediction prediction = predict(load_scenario_text(text, "layer", ".", catalog), {.records = true});
    const double forward = layer_ms(prediction, strategies::BlockKind::kForward);
    const double backward = layer_ms(prediction, strategies::BlockKind::kBackward);
    fmt::print(
        "recompute {:<9} sequence parallel {:<5}  forward {:5.2f} ms (measured {:4.1f})  backward {:5.2f} ms "
        "(measured {:4.1f})\n",
        published.recompute, published.sequence_parallel, forward, published.forward_ms, backward,
        published.backward_ms);
    EXPECT_NEAR(forward / published.forward_ms, 1, 0.06);
    EXPECT_NEAR(backward / published.backward_ms, 1, 0.04);
  }
}

}  // namespace
}  // namespace scenarios
