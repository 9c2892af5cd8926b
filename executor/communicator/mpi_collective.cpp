#include "executor/communicator/mpi_collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "executor/communicator/reduce_bytes.h"

namespace executor {
namespace {

MPI_Datatype type_of(Element element) {
  switch (element) {
    case Element::kFloat32:
      return MPI_FLOAT;
    case Element::kFloat64:
      return MPI_DOUBLE;
    case Element::kInt64:
      return MPI_INT64_T;
  }
  return MPI_DATATYPE_NULL;
}

/// MPI_MAX may lose a NaN.
void maximum(void* from, void* into, int* count, MPI_Datatype* type) {
  const Element element = *type == MPI_FLOAT    ? Element::kFloat32
                          : *type == MPI_DOUBLE ? Element::kFloat64
                                                : Element::kInt64;
  reduce_bytes(element, Reduction::kMax, static_cast<std::byte*>(into), static_cast<const std::byte*>(from),
               static_cast<std::size_t>(*count) * size_of(element));
}

/// Bytes of what MPI counts. Larger units reach further: MPI counts in ints. All-to-all: what two members exchange
/// says nothing about the others' blocks.
std::size_t unit_of(const CollectiveCall& call) {
  if (reduces(call.kind)) return size_of(call.element);
  if (call.kind == CollectiveKind::kAllToAll) return 1;
  if (call.kind == CollectiveKind::kBroadcast) return call.data.size() % 4 == 0 ? 4 : 1;
  return std::ranges::all_of(call.block_bytes, [](std::size_t bytes) { return bytes % 4 == 0; }) ? 4 : 1;
}

MPI_Datatype type_of(const CollectiveCall& call) {
  if (reduces(call.kind)) return type_of(call.element);
  return unit_of(call) == 4 ? MPI_INT32_T : MPI_BYTE;
}

}  // namespace

int mpi_count(std::size_t elements) {
  if (elements <= INT_MAX) return static_cast<int>(elements);
  throw std::invalid_argument(fmt::format("{} elements at once are too many for MPI", elements));
}

MpiCollective::Blocks::Blocks(std::span<const std::size_t> bytes, std::size_t unit) {
  std::size_t offset = 0;
  for (const std::size_t block : bytes) {
    counts.push_back(mpi_count(block / unit));
    offsets.push_back(mpi_count(offset / unit));
    offset += block;
  }
}

MpiCollective::MpiCollective(CheckedCall call, MpiGroup& group)
    : checked_(std::move(call)),
      group_(group),
      number_(group.posted),
      count_(mpi_count(checked_.call().data.size() / unit_of(checked_.call()))),
      type_(type_of(checked_.call())),
      blocks_(checked_.call().block_bytes, unit_of(checked_.call())),
      received_(checked_.call().received_block_bytes, 1),
      shapes_(group.members.size()) {
  shapes_[static_cast<std::size_t>(group.position)] = shape_of(checked_.call());
  MPI_Iallgather(MPI_IN_PLACE, 0, MPI_BYTE, shapes_.data(), sizeof(CallShape), MPI_BYTE, group.checks, &request_);
  ++group.posted;
}

bool MpiCollective::may_begin() {
  int done = 0;
  MPI_Test(&request_, &done, MPI_STATUS_IGNORE);
  return done != 0 && number_ == group_.begun;
}

void MpiCollective::begin() {
  const CollectiveCall& call = checked_.call();
  std::byte* const data = call.data.data();
  const bool root = call.root == group_.position;
  begun_ = true;
  ++group_.begun;
  if (call.reduction == Reduction::kMax) MPI_Op_create(maximum, 1, &op_);
  switch (call.kind) {
    case CollectiveKind::kAllReduce:
      MPI_Iallreduce(MPI_IN_PLACE, data, count_, type_, op_, group_.data, &request_);
      break;
    case CollectiveKind::kReduceScatter:
      reduced_block_.resize(own_block().size());
      MPI_Ireduce_scatter(data, reduced_block_.data(), blocks_.counts.data(), type_, op_, group_.data, &request_);
      break;
    case CollectiveKind::kAllGather:
      MPI_Iallgatherv(MPI_IN_PLACE, 0, type_, data, blocks_.counts.data(), blocks_.offsets.data(), type_, group_.data,
                      &request_);
      break;
    case CollectiveKind::kBroadcast:
      MPI_Ibcast(data, count_, type_, call.root, group_.data, &request_);
      break;
    case CollectiveKind::kReduce:
      MPI_Ireduce(root ? MPI_IN_PLACE : data, root ? data : nullptr, count_, type_, op_, call.root, group_.data,
                  &request_);
      break;
    case CollectiveKind::kAllToAll:
      MPI_Ialltoallv(data, blocks_.counts.data(), blocks_.offsets.data(), type_, call.received.data(),
                     received_.counts.data(), received_.offsets.data(), type_, group_.data, &request_);
      break;
    case CollectiveKind::kShiftNext:
    case CollectiveKind::kShiftPrevious:
      break;  // CheckedCall has refused it
  }
}

bool MpiCollective::complete() {
  int done = 0;
  if (begun_) MPI_Test(&request_, &done, MPI_STATUS_IGNORE);
  if (done == 0) return false;
  if (op_ != MPI_SUM) MPI_Op_free(&op_);
  if (!reduced_block_.empty()) std::memcpy(own_block().data(), reduced_block_.data(), reduced_block_.size());
  return true;
}

std::span<std::byte> MpiCollective::own_block() const {
  const auto sizes = checked_.call().block_bytes;
  const std::size_t begin = std::accumulate(sizes.begin(), sizes.begin() + group_.position, std::size_t{0});
  return checked_.call().data.subspan(begin, sizes[static_cast<std::size_t>(group_.position)]);
}

}  // namespace executor
