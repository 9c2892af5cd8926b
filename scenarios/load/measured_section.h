// The `measured` maps of a hardware file: what `trainyard calibrate` found on a machine.
#pragma once

#include <optional>

#include "hw_models/measured_kernels.h"
#include "hw_models/measured_transfers.h"
#include "scenarios/load/yaml_document.h"

namespace scenarios {

/// Of a GPU: {operation: 0.6 us, matmul-nt: {m: [16, 64], n: [16, 64], k: [16, 64], alone_us: [...], together_us:
/// [...]}}. The last axis runs fastest. nullopt after a finding.
std::optional<hw_models::MeasuredKernels> read_measured_kernels(const Value& value, Diagnostics& diagnostics);

/// Of a node: {all-reduce: {2: {bytes: [...], us: [...]}}, send: {bytes: [...], us: [...]}}, collectives by group size.
/// nullopt after a finding.
std::optional<hw_models::MeasuredTransfers> read_measured_transfers(const Value& value, Diagnostics& diagnostics);

}  // namespace scenarios
