#include "executor/calibration/transfer_cases.h"

#include <numeric>

#include "hw_models/measured_transfers.h"

namespace executor {
namespace {

CollectiveKind kind_of(hw_models::Operation operation) {
  switch (operation) {
    case hw_models::Operation::kReduceScatter:
      return CollectiveKind::kReduceScatter;
    case hw_models::Operation::kAllGather:
      return CollectiveKind::kAllGather;
    case hw_models::Operation::kBroadcast:
      return CollectiveKind::kBroadcast;
    case hw_models::Operation::kReduce:
      return CollectiveKind::kReduce;
    case hw_models::Operation::kAllToAll:
      return CollectiveKind::kAllToAll;
    case hw_models::Operation::kAllReduce:
    case hw_models::Operation::kSendReceive:  // measured as a message, not as a collective
      break;
  }
  return CollectiveKind::kAllReduce;
}

}  // namespace

std::string TransferCase::name() const {
  if (!collective) return "send";
  for (const hw_models::OperationName& each : hw_models::kOperationNames) {
    if (each.operation == *collective) return std::string(each.name) + " of " + std::to_string(ranks);
  }
  return "";
}

std::vector<TransferCase> transfer_cases(bool quick, int ranks) {
  constexpr std::int64_t kSmallest = 64;
  const std::int64_t largest = quick ? 4 << 20 : 64 << 20;
  std::vector<TransferCase> cases;
  if (ranks < 2) return cases;
  std::vector<int> groups;
  for (int group = 2; group < ranks; group *= 2) groups.push_back(group);
  groups.push_back(ranks);
  for (const hw_models::OperationName& each : hw_models::kOperationNames) {
    for (const int group : groups) {
      cases.push_back({each.operation, group, kSmallest});
      for (std::int64_t bytes = 1024; bytes <= largest; bytes *= 4) cases.push_back({each.operation, group, bytes});
    }
  }
  cases.push_back({std::nullopt, 2, kSmallest});
  for (std::int64_t bytes = 1024; bytes <= largest; bytes *= 4) cases.push_back({std::nullopt, 2, bytes});
  return cases;
}

void TransferRunner::run(const TransferCase& transfer, int repeats) {
  if (communicator_.rank() >= transfer.ranks) return;
  const auto bytes = static_cast<std::size_t>(transfer.bytes);
  if (data_.size() < bytes) data_.resize(bytes);
  if (received_.size() < bytes) received_.resize(bytes);
  if (transfer.collective) {
    run_collective(transfer, repeats);
  } else {
    run_messages(transfer, repeats);
  }
}

void TransferRunner::run_collective(const TransferCase& transfer, int repeats) {
  std::vector<int> members(static_cast<std::size_t>(transfer.ranks));
  std::iota(members.begin(), members.end(), 0);
  const auto bytes = static_cast<std::size_t>(transfer.bytes);
  CollectiveCall call{.kind = kind_of(*transfer.collective),
                      .group = communicator_.group(members),
                      .data = std::span(data_).first(bytes)};
  if (call.kind == CollectiveKind::kAllToAll) call.received = std::span(received_).first(bytes);
  for (int i = 0; i < repeats; ++i) {
    call.root = i % transfer.ranks;  // a root that stays the same would run ahead
    communicator_.wait(communicator_.post(call));
  }
}

/// There and back: half of it is one way.
void TransferRunner::run_messages(const TransferCase& transfer, int repeats) {
  const auto bytes = static_cast<std::size_t>(transfer.bytes);
  const int peer = 1 - communicator_.rank();
  for (int i = 0; i < repeats; ++i) {
    if (i % 2 == communicator_.rank()) {
      communicator_.wait(communicator_.send(peer, 0, std::span(data_).first(bytes)));
    } else {
      communicator_.wait(communicator_.receive(peer, 0, std::span(received_).first(bytes)));
    }
  }
}

}  // namespace executor
