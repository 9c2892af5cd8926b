// The corrections of nodes and fabrics, fitted to a sweep: four numbers for a node, three for a fabric (its efficiency,
// the fourth, stays), whatever the number of rows.
//
//   minimised: mean over the rows of min(|error|, 0.7); coordinate search with halving steps, deterministic
//   held out:  the same without one (system, GPUs, collective) group at a time, scored on that group
#pragma once

#include <string>
#include <vector>

#include "hw_models/collective_correction.h"
#include "scenarios/collectives/collectives_accuracy.h"

namespace scenarios {

struct CorrectionFit {
  std::string name;  ///< of the node, the fabric or the generation
  bool fabric = false;
  int rows = 0, groups = 0;
  hw_models::NodeCorrection node;
  hw_models::FabricCorrection network;
  double median = 0, held_out_median = 0;  ///< |error|
};

/// Rows inside one domain give the nodes and their generations; rows between domains the fabrics, with the node's
/// correction as it is in the catalogue. Systems of fewer than 20 rows are not fitted to.
std::vector<CorrectionFit> fit_corrections(const std::vector<MeasuredCollective>& rows, const Catalog& catalog);

std::string fit_text(const std::vector<CorrectionFit>& fits);

}  // namespace scenarios
