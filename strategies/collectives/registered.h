// The functions behind the table of collective algorithms; everyone else uses algorithm.h.
#pragma once

#include <vector>

#include "strategies/collectives/algorithm.h"

namespace strategies {

std::vector<Step> ring_steps(const Exchange& exchange, const GroupDomains& group, int member);
std::vector<Step> tree_steps(const Exchange& exchange, const GroupDomains& group, int member);
std::vector<Step> pat_steps(const Exchange& exchange, const GroupDomains& group, int member);
std::vector<Step> nvls_steps(const Exchange& exchange, const GroupDomains& group, int member);
std::vector<Step> nvls_tree_steps(const Exchange& exchange, const GroupDomains& group, int member);
std::vector<Step> nvls_sharp_steps(const Exchange& exchange, const GroupDomains& group, int member);
std::vector<Step> collnet_direct_steps(const Exchange& exchange, const GroupDomains& group, int member);
std::vector<Step> collnet_chain_steps(const Exchange& exchange, const GroupDomains& group, int member);
std::vector<Step> direct_steps(const Exchange& exchange, const GroupDomains& group, int member);
std::vector<Step> pxn_steps(const Exchange& exchange, const GroupDomains& group, int member);

}  // namespace strategies
