#include "tests/executor/communicator/launched_ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <numeric>

#include "executor/communicator/communicator.h"
#include "executor/communicator/membership.h"

namespace executor {
namespace {

/// The processes meet in their first test that needs it and part after the last: MPI starts once and ends once.
class Meeting : public ::testing::Environment {
 public:
  static Meeting& instance() {
    static auto* meeting = new Meeting;  // gtest deletes it
    static const auto* added = ::testing::AddGlobalTestEnvironment(meeting);
    static_cast<void>(added);
    return *meeting;
  }
  Communicator& communicator() {
    if (!communicator_) {
      communicator_ = self_connecting_kind()->join({.rank = std::atoi(std::getenv("OMPI_COMM_WORLD_RANK")),
                                                    .ranks = std::atoi(std::getenv("OMPI_COMM_WORLD_SIZE")),
                                                    .deadline = std::chrono::minutes(2)});
    }
    return *communicator_;
  }
  void TearDown() override { communicator_.reset(); }

 private:
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace

bool launched() { return std::getenv("OMPI_COMM_WORLD_RANK") != nullptr && self_connecting_kind() != nullptr; }

int launched_rank() { return Meeting::instance().communicator().rank(); }

std::vector<std::string> exchange(const std::string& own) {
  Communicator& communicator = Meeting::instance().communicator();
  const auto rank = static_cast<std::size_t>(communicator.rank());
  std::vector<std::size_t> sizes(static_cast<std::size_t>(communicator.ranks()));
  sizes[rank] = own.size();
  communicator.wait(communicator.post({.kind = CollectiveKind::kAllGather, .data = bytes_of(sizes)}));
  std::string all(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}), ' ');
  const auto begin = [&](std::size_t of) { return std::accumulate(sizes.data(), sizes.data() + of, std::size_t{0}); };
  std::ranges::copy(own, all.data() + begin(rank));
  communicator.wait(
      communicator.post({.kind = CollectiveKind::kAllGather, .data = bytes_of(all), .block_bytes = sizes}));
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < sizes.size(); ++i) texts.push_back(all.substr(begin(i), sizes[i]));
  return texts;
}

}  // namespace executor
