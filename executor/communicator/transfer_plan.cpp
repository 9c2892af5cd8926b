#include "executor/communicator/transfer_plan.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "executor/communicator/reduce_bytes.h"

namespace executor {
namespace {

class Planner {
 public:
  Planner(const CollectiveCall& call, std::span<const int> members, int position)
      : call_(call), members_(members), size_(static_cast<int>(members.size())), position_(position) {
    plan_.element = call.element;
    plan_.reduction = call.reduction;
  }

  TransferPlan plan() {
    if (size_ == 1) {
      if (call_.kind == CollectiveKind::kAllToAll) copy_own_block();
      return std::move(plan_);
    }
    const bool small = call_.data.size() <= kDirectBytes;
    switch (call_.kind) {
      case CollectiveKind::kAllReduce:
        small ? direct_all_reduce() : ring(true, true);
        break;
      case CollectiveKind::kReduceScatter:
        small ? direct_reduce_scatter() : ring(true, false);
        break;
      case CollectiveKind::kAllGather:
        small ? direct_all_gather() : ring(false, true);
        break;
      case CollectiveKind::kBroadcast:
        chain(call_.root, false);
        break;
      case CollectiveKind::kReduce:
        chain(member(call_.root + 1), true);
        break;
      case CollectiveKind::kAllToAll:
        all_to_all();
        break;
      case CollectiveKind::kShiftNext:
      case CollectiveKind::kShiftPrevious:
        break;  // CheckedCall has refused it
    }
    return std::move(plan_);
  }

 private:
  int member(int position) const { return ((position % size_) + size_) % size_; }
  int rank_of(int position) const { return members_[static_cast<std::size_t>(member(position))]; }

  static Piece block(std::span<std::byte> data, std::span<const std::size_t> sizes, int index, bool reduce) {
    const auto i = static_cast<std::ptrdiff_t>(index);
    const std::size_t begin = std::accumulate(sizes.begin(), sizes.begin() + i, std::size_t{0});
    return {data.data() + begin, sizes[static_cast<std::size_t>(index)], reduce};
  }
  Piece block(int position, bool reduce = false) const {
    return block(call_.data, call_.block_bytes, member(position), reduce);
  }
  Piece whole(bool reduce = false) const { return {call_.data.data(), call_.data.size(), reduce}; }

  void receive(int from, std::vector<Piece> pieces) {
    plan_.incoming.emplace_back(rank_of(from), std::move(pieces), call_.element, call_.reduction);
  }

  void ring(bool scatter, bool gather) {
    std::vector<Piece> in, out;
    for (int step = 0; scatter && step < size_ - 1; ++step) {
      out.push_back(block(position_ - 1 - step));
      in.push_back(block(position_ - 2 - step, true));
    }
    for (int step = 0; gather && step < size_ - 1; ++step) {
      out.push_back(block(position_ - step));
      in.push_back(block(position_ - 1 - step));
    }
    const std::size_t head = out.front().size;
    receive(position_ - 1, std::move(in));
    plan_.outgoing.emplace_back(rank_of(position_ + 1), std::move(out), 0, head);
  }

  void chain(int first, bool reduce) {
    const int last = member(first - 1);
    receive(position_ - 1, position_ == first ? std::vector<Piece>{} : std::vector<Piece>{whole(reduce)});
    plan_.outgoing.emplace_back(rank_of(position_ + 1),
                                position_ == last ? std::vector<Piece>{} : std::vector<Piece>{whole()},
                                position_ == first ? -1 : 0);
  }

  /// Every member's contribution to `target`: the own one is there, the others come into scratch.
  void contribute(std::span<std::byte> target) {
    plan_.target = target;
    plan_.scratch.resize(target.size() * static_cast<std::size_t>(size_));
    for (int other = 0; other < size_; ++other) {
      const Piece from = {plan_.scratch.data() + target.size() * static_cast<std::size_t>(other), target.size(), false};
      if (other == position_) {
        plan_.contributions.emplace_back(target);
      } else {
        plan_.contributions.emplace_back(from.data, from.size);
        receive(other, {from});
      }
    }
  }

  template <typename PieceFor>
  void send_to_others(PieceFor piece_for) {
    for (int step = 1; step < size_; ++step) {  // the right neighbour first: not all to the same member at once
      const int other = member(position_ + step);
      plan_.outgoing.emplace_back(rank_of(other), std::vector<Piece>{piece_for(other)});
    }
  }

  void direct_all_reduce() {
    contribute(call_.data);
    send_to_others([this](int) { return whole(); });
  }

  void direct_reduce_scatter() {
    const Piece own = block(position_);
    contribute({own.data, own.size});
    send_to_others([this](int other) { return block(other); });
  }

  void direct_all_gather() {
    for (int other = 0; other < size_; ++other) {
      if (other != position_) receive(other, {block(other)});
    }
    send_to_others([this](int) { return block(position_); });
  }

  void all_to_all() {
    copy_own_block();
    for (int other = 0; other < size_; ++other) {
      if (other != position_) receive(other, {block(call_.received, call_.received_block_bytes, other, false)});
    }
    send_to_others([this](int other) { return block(other); });
  }

  void copy_own_block() {
    const Piece from = block(position_), to = block(call_.received, call_.received_block_bytes, position_, false);
    if (from.size > 0) std::memcpy(to.data, from.data, from.size);
  }

  const CollectiveCall& call_;
  std::span<const int> members_;
  int size_, position_;
  TransferPlan plan_;
};

}  // namespace

bool TransferPlan::complete() const {
  return std::ranges::all_of(incoming, &Incoming::complete) && std::ranges::all_of(outgoing, &Outgoing::complete);
}

void TransferPlan::finish() {
  if (contributions.empty() || target.empty()) return;
  std::vector<std::byte> sum(contributions.front().begin(), contributions.front().end());
  for (std::size_t i = 1; i < contributions.size(); ++i) {
    reduce_bytes(element, reduction, sum.data(), contributions[i].data(), sum.size());
  }
  std::memcpy(target.data(), sum.data(), sum.size());
}

TransferPlan plan_transfers(const CollectiveCall& call, std::span<const int> members, int position) {
  return Planner(call, members, position).plan();
}

}  // namespace executor
