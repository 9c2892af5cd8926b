#include "scenarios/execute/joined_rank.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

#include "scenarios/load/diagnostics.h"

namespace scenarios {
namespace {

constexpr std::chrono::minutes kPatience{1};  // for all ranks to meet
constexpr std::chrono::minutes kDeadline{5};  // for a byte to move: more than any computation takes

/// Communicators name the rank themselves.
void tell_user(const executor::Seat& seat, const std::string& error) {
  const bool named = error.starts_with("rank ");
  fmt::print(stderr, "error: {}{}\n", named ? "" : fmt::format("rank {}: ", seat.rank), error);
}

}  // namespace

JoinedRank::JoinedRank(const executor::Seat& seat)
    : seat_(seat), communicator_(executor::join_run(seat, kPatience, kDeadline)) {}

void JoinedRank::agree() {
  const double none = -static_cast<double>(seat_.ranks);
  if (executor::all_reduce(*communicator_, executor::kWorld, none, executor::Reduction::kMax) > none) {
    throw OthersRefused{};
  }
  agreed_ = true;
}

bool JoinedRank::refuse() {
  if (agreed_) return true;  // the others are past it: this is about the output
  const double own = -static_cast<double>(seat_.rank);
  return executor::all_reduce(*communicator_, executor::kWorld, own, executor::Reduction::kMax) == own;
}

int take_part(const executor::Seat& seat, const std::function<int(JoinedRank&)>& part) {
  try {
    JoinedRank rank(seat);
    try {
      return part(rank);
    } catch (const InputError& error) {
      if (rank.supervised()) throw;
      if (rank.refuse())
        fmt::print(stderr, "{}{}", seat.rank == 0 ? "" : fmt::format("rank {}: ", seat.rank), error.what());
    } catch (const JoinedRank::OthersRefused&) {
    }
    return kBadInput;
  } catch (const std::exception& error) {
    if (seat.report >= 0) {
      executor::Reporter(seat.report).failed(error);
    } else {
      tell_user(seat, error.what());
    }
    return 1;
  }
}

}  // namespace scenarios
