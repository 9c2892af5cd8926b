// How the ranks of one communicator lie on scale-up domains (an NVSwitch box, an NVL72 rack): what an algorithm needs
// to know about the group it runs on. Besides the ranks two kinds of hardware may take part as members of their own:
// the switch of a domain (NVLS) and the network between domains (SHARP).
#pragma once

#include <vector>

namespace strategies {

class GroupDomains {
 public:
  /// label[r] names the domain of rank r. Domains are numbered by their first rank, local numbers follow the ranks.
  /// Throws std::invalid_argument for an empty group.
  explicit GroupDomains(const std::vector<int>& label);

  /// Rank r lives in domain r / per_domain; the last one may be short.
  static GroupDomains consecutive(int ranks, int per_domain);

  int ranks() const { return static_cast<int>(domain_.size()); }
  int domains() const { return static_cast<int>(ranks_.size()); }
  int domain(int rank) const { return domain_[static_cast<std::size_t>(rank)]; }
  int local(int rank) const { return local_[static_cast<std::size_t>(rank)]; }
  /// Ranks of a domain, ascending: ranks_of(d)[i] has local number i.
  const std::vector<int>& ranks_of(int domain) const { return ranks_[static_cast<std::size_t>(domain)]; }
  int rank(int domain, int local) const { return ranks_of(domain)[static_cast<std::size_t>(local)]; }
  int domain_size(int domain) const { return static_cast<int>(ranks_of(domain).size()); }
  bool equal_domains() const;

  // Members: the ranks, then one switch per domain, then the network.
  int members() const { return ranks() + domains() + 1; }
  int switch_of(int domain) const { return ranks() + domain; }
  int network() const { return ranks() + domains(); }
  bool is_rank(int member) const { return member < ranks(); }
  bool is_switch(int member) const { return member >= ranks() && member < network(); }
  /// Whether a message between two members leaves a domain.
  bool far(int member, int other) const { return domain_of_member(member) != domain_of_member(other); }

 private:
  int domain_of_member(int member) const { return is_rank(member) ? domain(member) : member - ranks(); }

  std::vector<int> domain_, local_;
  std::vector<std::vector<int>> ranks_;
};

}  // namespace strategies
