// Which layers a virtual stage holds.
#pragma once

#include <vector>

#include "strategies/model.h"
#include "strategies/plan.h"

namespace strategies {

/// Layers of every virtual stage 0 ... pipeline x chunks - 1. Uses the plan's own split when it has one. Otherwise
/// even; what does not divide goes to the stages after the first, so that the first (embedding, most activations) and
/// the last (LM head, loss) are the light ones. With `count_embedding_and_loss` the embedding and the loss each
/// take the place of one layer.
/// Precondition: at least as many places - layers, and two more when those are counted - as virtual stages.
std::vector<int> split_layers(int layers, const PlanSpec& plan);

/// Layers of every stage where the stack weighs them by their matrices, and the LM head as a layer of its own weight:
/// stage s is full once the sum over all stages so far exceeds (s + 1) / stages of the total (nanotron).
std::vector<int> balanced_split(const ModelSpec& model, const PlanSpec& plan);

/// True when split_layers has to hand out a remainder.
bool split_is_uneven(int layers, const PlanSpec& plan);

}  // namespace strategies
