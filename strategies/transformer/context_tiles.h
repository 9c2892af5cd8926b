// Which keys the queries of a context rank meet, and when: the kernels of one attention that is split by tokens.
//
// Balanced, a sequence of s tokens is cut into 2 c pieces; rank r holds pieces r and 2c-1-r, and with l = s / c tokens
// of its own every rank does the same work:
//   ring     c kernels of l^2 / 2 scores: its own tokens, causal; then half of its queries (the later piece) with all
//   keys
//            of a later rank, or all its queries with half the keys (the earlier piece) of an earlier one
//   gather   a causal kernel for each of its two pieces, over all keys up to the piece's end
// Not balanced, rank r holds tokens r l to (r + 1) l and does r + 1/2 of c parts:
//   ring     its own, causal; then all keys of each earlier rank; nothing with those of later ones
//   gather   one causal kernel over all keys up to its end
// Where ranks do the same, the last rank's kernels stand for all: scores and FLOPs are equal, only shapes differ.
#pragma once

#include <optional>
#include <vector>

#include "hw_models/kernel.h"
#include "strategies/transformer/stage.h"

namespace strategies {

/// Of the ring, by the distance of the rank whose keys they are: 0 its own, 1 those of the rank before, ... Nothing
/// where all these keys lie behind its queries.
std::vector<std::optional<hw_models::Attention>> ring_tiles(const Stage& stage, bool backward);

/// Over gathered keys and values; `window` as for attention_kernel, and below.
std::vector<hw_models::Attention> gathered_tiles(const Stage& stage, bool backward, std::int64_t window = 0);

/// Whole sequences, a share of this rank's heads.
hw_models::Attention head_tile(const Stage& stage, bool backward, std::int64_t window = 0);

/// Whether context ranks of one stage do not do the same, so that each has a role of its own.
bool context_ranks_differ(const PlanSpec& plan, const Implementation& implementation);

}  // namespace strategies
