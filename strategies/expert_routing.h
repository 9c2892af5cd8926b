// How a router's choices fall on the experts, and what that leaves to every rank that holds some of them.
//
//   share(e)  = choices of expert e / all choices; a token chooses an expert once: share(e) <= 1 / per_token
//   power law = the i-th most popular expert has a share proportional to i^-exponent, what exceeds 1 / per_token falls
//               on the others; popularity does not follow the numbering: the i-th sits on rank (i - 1) mod ranks
//   load(r)   = ranks x sum of share(e) over the experts of rank r: its rows over the mean
//
// Rank r of R holds experts r E/R ... (r + 1) E/R - 1.
#pragma once

#include <vector>

namespace strategies {

/// Neither: balanced.
struct ExpertRouting {
  double exponent = 0;
  std::vector<double> choices;  ///< measured, by expert; decides where it is given
};

/// By expert in order of the numbering, or of popularity under a power law; sums to 1.
std::vector<double> expert_shares(const ExpertRouting& routing, int experts, int per_token);

/// The rank that all others of its group wait for, and their mean.
struct RankLoads {
  int busiest_rank = 0;
  double busiest = 1, others = 1;
  bool even() const { return busiest == others; }
};
RankLoads rank_loads(const ExpertRouting& routing, int experts, int per_token, int ranks);

}  // namespace strategies
