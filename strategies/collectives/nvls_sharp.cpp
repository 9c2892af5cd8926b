// NVLS inside the domains, SHARP between them: NCCL's NVLS on several nodes.
#include "strategies/collectives/nvls.h"
#include "strategies/collectives/rails.h"
#include "strategies/collectives/registered.h"

namespace strategies {

std::vector<Step> nvls_sharp_steps(const Exchange& exchange, const GroupDomains& group, int member) {
  const Cut cut{group.domain_size(0), exchange.channels, exchange.slices};
  return write_slices(cut, [&](StepWriter& writer, int c, int s) {
    if (group.is_rank(member)) {
      nvls_rank_all_reduce(writer, group, member, {group.network(), {}}, cut, c, s);
    } else if (group.is_switch(member)) {
      nvls_switch_all_reduce(writer, group, member - group.ranks(), cut, c, s);
    } else {
      network_all_reduce(writer, group, cut, c, s);
    }
  });
}

}  // namespace strategies
