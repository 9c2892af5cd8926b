#include "strategies/collectives/group_domains.h"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace strategies {

GroupDomains::GroupDomains(const std::vector<int>& label) {
  if (label.empty()) throw std::invalid_argument("a group needs at least one rank");
  std::map<int, int> number;
  for (std::size_t r = 0; r < label.size(); ++r) {
    const int domain = number.emplace(label[r], static_cast<int>(number.size())).first->second;
    if (domain == domains()) ranks_.emplace_back();
    auto& mates = ranks_[static_cast<std::size_t>(domain)];
    domain_.push_back(domain);
    local_.push_back(static_cast<int>(mates.size()));
    mates.push_back(static_cast<int>(r));
  }
}

GroupDomains GroupDomains::consecutive(int ranks, int per_domain) {
  if (ranks < 1 || per_domain < 1) throw std::invalid_argument("a group needs at least one rank per domain");
  std::vector<int> label(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) label[static_cast<std::size_t>(r)] = r / per_domain;
  return GroupDomains(label);
}

bool GroupDomains::equal_domains() const {
  return std::ranges::all_of(ranks_, [&](const auto& mates) { return mates.size() == ranks_.front().size(); });
}

}  // namespace strategies
