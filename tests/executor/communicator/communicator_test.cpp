// The contract: every implementation of Communicator in the table passes it, on real processes.
#include "executor/communicator/communicator.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>
#include <thread>

#include "executor/communicator/frame.h"
#include "executor/communicator/transfer_plan.h"
#include "tests/executor/communicator/forked_ranks.h"

namespace executor {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

class Contract : public ::testing::TestWithParam<Way> {
 protected:
  /// All ranks end well; returns their results.
  static std::vector<std::string> expect_well(int ranks, const std::function<std::string(const RankSeat&)>& body,
                                              const RunOptions& options = {}) {
    std::vector<std::string> results;
    for (const Outcome& outcome : run_ranks(GetParam(), ranks, body, options)) {
      EXPECT_EQ(outcome.error, "");
      EXPECT_FALSE(outcome.died);
      results.push_back(outcome.result);
    }
    return results;
  }
  /// Every rank but `victim` ends with this failure; returns the outcomes.
  static std::vector<Outcome> expect_failure(Failure failure, int victim, int ranks,
                                             const std::function<std::string(const RankSeat&)>& body,
                                             const RunOptions& options = {}) {
    const std::vector<Outcome> outcomes = run_ranks(GetParam(), ranks, body, options);
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == victim) continue;
      const Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
      EXPECT_EQ(outcome.failure, failure) << "rank " << rank << ": " << outcome.error;
      if (victim >= 0) {
        EXPECT_EQ(outcome.peer, victim) << "rank " << rank << ": " << outcome.error;
      }
    }
    return outcomes;
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, Contract, ::testing::ValuesIn(testable_ways(false)), name_of);

/// Who survives the faults of others has more to keep.
class Faults : public Contract {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Faults);
INSTANTIATE_TEST_SUITE_P(Ways, Faults, ::testing::ValuesIn(testable_ways(true)), name_of);

// Around the change from direct to ring, one frame, several frames; sizes that no number of ranks divides.
constexpr std::size_t kCounts[] = {0, 1, 5, 1000, kDirectBytes / 4, kDirectBytes / 4 + 1, 70'001, 300'007};

/// What rank r contributes at place i: sums over ranks are exact in every element type.
template <typename T>
T term(int rank, std::size_t i) {
  return static_cast<T>(static_cast<int>(i % 7 + 1) * (rank + 1));
}

template <typename T>
std::vector<T> terms(int rank, std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = term<T>(rank, i);
  return values;
}

template <typename T>
constexpr Element kElementOf = std::is_same_v<T, float>    ? Element::kFloat32
                               : std::is_same_v<T, double> ? Element::kFloat64
                                                           : Element::kInt64;

/// The reduction at place i over ranks 0 ... n-1.
template <typename T>
T reduced(int ranks, std::size_t i, Reduction reduction) {
  return reduction == Reduction::kSum ? term<T>(ranks * (ranks + 1) / 2 - 1, i) : term<T>(ranks - 1, i);
}

template <typename T>
void reduce_all_ways(Communicator& c, std::size_t count, Reduction reduction) {
  const int n = c.ranks();
  CollectiveCall call{.element = kElementOf<T>, .reduction = reduction};
  const auto check = [&](const std::vector<T>& values, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (values[i] == reduced<T>(n, i, reduction)) continue;
      throw std::runtime_error(fmt::format("{}: place {} is {}", describe(shape_of(call)), i, values[i]));
    }
  };
  for (const auto kind : {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kReduce}) {
    std::vector<T> values = terms<T>(c.rank(), count);
    call.kind = kind;
    call.data = bytes_of(values);
    call.root = n / 2;
    c.wait(c.post(call));
    const std::vector<std::size_t> blocks = even_blocks(count * sizeof(T), static_cast<std::size_t>(n), sizeof(T));
    const std::size_t begin = std::accumulate(blocks.begin(), blocks.begin() + c.rank(), std::size_t{0}) / sizeof(T);
    const std::size_t own = blocks[static_cast<std::size_t>(c.rank())] / sizeof(T);
    if (kind == CollectiveKind::kAllReduce) check(values, 0, count);
    if (kind == CollectiveKind::kReduceScatter) check(values, begin, begin + own);
    if (kind == CollectiveKind::kReduce && c.rank() == call.root) check(values, 0, count);
  }
}

TEST_P(Contract, Reductions) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    expect_well(ranks, [](const RankSeat& seat) {
      for (const std::size_t count : kCounts) {
        for (const Reduction reduction : {Reduction::kSum, Reduction::kMax}) {
          reduce_all_ways<float>(seat.communicator, count, reduction);
          reduce_all_ways<double>(seat.communicator, count, reduction);
          reduce_all_ways<std::int64_t>(seat.communicator, count, reduction);
        }
      }
      return "";
    });
  }
}

TEST_P(Contract, ReductionsGiveEqualBitsToAllAndAgain) {
  for (const int ranks : {2, 3, 8}) {
    const auto results = expect_well(ranks, [](const RankSeat& seat) {
      std::string hashes;
      for (const std::size_t count : {std::size_t{100}, std::size_t{100'003}}) {
        for (int repeat = 0; repeat < 2; ++repeat) {
          std::mt19937 random(static_cast<unsigned>(seat.communicator.rank()));
          std::vector<float> values(count);
          for (float& value : values) value = std::ldexp(static_cast<float>(random()), static_cast<int>(random() % 40));
          seat.communicator.wait(seat.communicator.post({.data = bytes_of(values)}));
          hashes += fmt::format("{:x} ", hash_of(bytes_of(values)));
        }
      }
      std::istringstream words(hashes);
      std::string a, b;
      while (words >> a >> b) require(a == b, "other bits the second time");
      return hashes;
    });
    EXPECT_THAT(results, ::testing::Each(results.front()));
  }
}

TEST_P(Contract, NotANumberReachesAll) {
  expect_well(3, [](const RankSeat& seat) {
    const double own = seat.communicator.rank() == 1 ? std::numeric_limits<double>::quiet_NaN() : 1.0;
    for (const Reduction reduction : {Reduction::kSum, Reduction::kMax}) {
      require(std::isnan(all_reduce(seat.communicator, kWorld, own, reduction)), name(reduction));
    }
    return "";
  });
}

/// Bytes that tell who wrote them where.
std::byte mark(int rank, std::size_t i) { return static_cast<std::byte>(31 * rank + static_cast<int>(i % 251)); }

std::vector<std::byte> marked(int rank, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = mark(rank, i);
  return data;
}

void require_marks(std::span<const std::byte> data, int rank, std::size_t offset, const std::string& what) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] == mark(rank, offset + i)) continue;
    throw std::runtime_error(fmt::format("{}: byte {} of rank {}", what, offset + i, rank));
  }
}

/// Odd, different sizes; the last member's is empty.
std::vector<std::size_t> uneven_blocks(int members, std::size_t unit) {
  std::vector<std::size_t> blocks;
  for (int i = 0; i < members; ++i) blocks.push_back(unit * static_cast<std::size_t>((members - 1 - i) * 3 + i % 2));
  blocks.back() = members == 1 ? unit : 0;
  return blocks;
}

void gather_and_broadcast(Communicator& c, std::size_t unit) {
  const std::vector<std::size_t> blocks = uneven_blocks(c.ranks(), unit);
  const std::size_t total = std::accumulate(blocks.begin(), blocks.end(), std::size_t{0});
  std::vector<std::byte> data = marked(c.rank(), total);  // bytes outside the own block are to be replaced
  c.wait(c.post({.kind = CollectiveKind::kAllGather, .data = data, .block_bytes = blocks}));
  std::size_t begin = 0;
  for (int rank = 0; rank < c.ranks(); ++rank) {
    const std::size_t size = blocks[static_cast<std::size_t>(rank)];
    require_marks(std::span(data).subspan(begin, size), rank, begin, "all-gather");
    begin += size;
  }
  for (int root = 0; root < c.ranks(); ++root) {
    data = marked(c.rank(), total);
    c.wait(c.post({.kind = CollectiveKind::kBroadcast, .data = data, .root = root}));
    require_marks(data, root, 0, "broadcast");
  }
}

TEST_P(Contract, UnevenGatherAndBroadcast) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    expect_well(ranks, [](const RankSeat& seat) {
      for (const std::size_t unit : {1u, 101u, 20'001u}) gather_and_broadcast(seat.communicator, unit);
      return "";
    });
  }
}

TEST_P(Contract, UnevenReduceScatter) {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    expect_well(ranks, [](const RankSeat& seat) {
      Communicator& c = seat.communicator;
      for (const std::size_t unit : {4u, 400u, 40'004u}) {
        const std::vector<std::size_t> blocks = uneven_blocks(c.ranks(), unit);
        std::vector<float> values = terms<float>(c.rank(), std::accumulate(blocks.begin(), blocks.end(), 0u) / 4);
        c.wait(c.post({.kind = CollectiveKind::kReduceScatter, .data = bytes_of(values), .block_bytes = blocks}));
        const std::size_t begin = std::accumulate(blocks.begin(), blocks.begin() + c.rank(), 0u) / 4;
        for (std::size_t i = begin; i < begin + blocks[static_cast<std::size_t>(c.rank())] / 4; ++i) {
          require(values[i] == reduced<float>(c.ranks(), i, Reduction::kSum), "wrong sum");
        }
      }
      return "";
    });
  }
}

TEST_P(Contract, UnevenAllToAll) {
  for (const int ranks : {1, 2, 3, 8}) {
    expect_well(ranks, [](const RankSeat& seat) {
      Communicator& c = seat.communicator;
      const auto bytes = [](int from, int to) { return static_cast<std::size_t>((from + 1) * (to * 977) % 50'000); };
      std::vector<std::size_t> sent, received;
      for (int other = 0; other < c.ranks(); ++other) {
        sent.push_back(bytes(c.rank(), other));
        received.push_back(bytes(other, c.rank()));
      }
      std::vector<std::byte> data = marked(c.rank(), std::accumulate(sent.begin(), sent.end(), std::size_t{0}));
      std::vector<std::byte> result(std::accumulate(received.begin(), received.end(), std::size_t{0}));
      c.wait(c.post({.kind = CollectiveKind::kAllToAll,
                     .data = data,
                     .block_bytes = sent,
                     .received = result,
                     .received_block_bytes = received}));
      std::size_t begin = 0;
      for (int from = 0; from < c.ranks(); ++from) {
        std::size_t offset = 0;
        for (int to = 0; to < c.rank(); ++to) offset += bytes(from, to);
        require_marks(std::span(result).subspan(begin, bytes(from, c.rank())), from, offset, "all-to-all");
        begin += bytes(from, c.rank());
      }
      return "";
    });
  }
}

// Rows {0 1 2 3} {4 5 6 7} and columns {0 4} ...: a rank's collectives of two groups and its messages are under way
// at once, posted in another order on every rank.
TEST_P(Contract, GroupsAndMessagesAtOnce) {
  expect_well(8, [](const RankSeat& seat) {
    Communicator& c = seat.communicator;
    const int row = c.rank() / 4, column = c.rank() % 4, other = (row * 4 + 4 + column) % 8;
    const std::vector<int> row_members{row * 4, row * 4 + 1, row * 4 + 2, row * 4 + 3},
        column_members{column, column + 4};
    const GroupHandle rows = c.group(row_members), columns = c.group(column_members);
    require(c.group(row_members) == rows && rows != columns, "the same list, the same handle");
    constexpr std::size_t kCount = 100'003;
    for (int repeat = 0; repeat < 3; ++repeat) {
      auto in_row = terms<float>(column, kCount), in_column = terms<float>(row, kCount);
      std::vector<std::byte> message = marked(c.rank(), 500'000), received(500'000);
      std::vector<Request> requests(4);
      for (int i = 0; i < 4; ++i) {
        switch ((i + c.rank() + repeat) % 4) {
          case 0:
            requests[0] = c.post({.group = rows, .data = bytes_of(in_row)});
            break;
          case 1:
            requests[1] = c.post({.group = columns, .data = bytes_of(in_column)});
            break;
          case 2:
            requests[2] = c.send(other, 7, message);
            break;
          case 3:
            requests[3] = c.receive(other, 7, received);
            break;
        }
        c.progress();
      }
      for (std::size_t i = 0; i < 4; ++i) c.wait(requests[(i + static_cast<std::size_t>(c.rank())) % 4]);
      for (std::size_t i = 0; i < kCount; ++i) {
        require(in_row[i] == reduced<float>(4, i, Reduction::kSum), "row");
        require(in_column[i] == reduced<float>(2, i, Reduction::kSum), "column");
      }
      require_marks(received, other, 0, "message");
    }
    return "";
  });
}

TEST_P(Contract, MessagesMatchByTagAndOrder) {
  expect_well(3, [](const RankSeat& seat) {
    Communicator& c = seat.communicator;
    const int next = (c.rank() + 1) % 3, previous = (c.rank() + 2) % 3;
    // All sends complete before any receive is posted, also large ones and to oneself.
    const std::vector<std::byte> large = marked(c.rank(), 5'000'000), first = marked(c.rank() + 3, 100'001),
                                 second = marked(c.rank() + 6, 3), own = marked(c.rank() + 9, 300'000);
    c.wait(c.send(next, 1, first));
    c.wait(c.send(next, 1, second));
    c.wait(c.send(next, 2, large));
    c.wait(c.send(c.rank(), 1, own));
    c.wait(c.send(next, 3, {}));
    std::vector<std::byte> a(100'001), b(3), l(5'000'000), o(300'000);
    c.wait(c.receive(previous, 3, {}));
    const Request to_l = c.receive(previous, 2, l);
    const Request to_a = c.receive(previous, 1, a), to_b = c.receive(previous, 1, b);
    c.wait(c.receive(c.rank(), 1, o));
    for (const Request request : {to_b, to_a, to_l}) c.wait(request);
    require_marks(a, previous + 3, 0, "first");
    require_marks(b, previous + 6, 0, "second");
    require_marks(l, previous, 0, "large");
    require_marks(o, c.rank() + 9, 0, "own");
    return "";
  });
}

TEST_P(Contract, ReceivesPostedBeforeTheirSends) {
  expect_well(2, [](const RankSeat& seat) {
    Communicator& c = seat.communicator;
    std::vector<std::byte> a(10), b(100'000);
    const std::array requests{c.receive(1 - c.rank(), 5, a), c.receive(1 - c.rank(), 5, b)};
    require(!c.test(requests[0]), "nothing was sent");
    all_reduce(c, kWorld, 0, Reduction::kSum);
    const auto to_a = marked(c.rank(), 10), to_b = marked(c.rank() + 2, 100'000);
    const Request one = c.send(1 - c.rank(), 5, to_a), two = c.send(1 - c.rank(), 5, to_b);
    c.wait_any(requests);
    require(c.test(requests[0]), "the first one comes first");
    for (const Request request : {one, two, requests[1]}) c.wait(request);
    require_marks(a, 1 - c.rank(), 0, "a");
    require_marks(b, 1 - c.rank() + 2, 0, "b");
    return "";
  });
}

TEST_P(Contract, ContradictoryCallsAreRefused) {
  expect_well(2, [](const RankSeat& seat) {
    Communicator& c = seat.communicator;
    std::vector<std::byte> data(12), other(12);
    const std::vector<std::size_t> three{4, 4, 4}, short_of{4, 4}, split{6, 6};
    const std::vector<CollectiveCall> calls = {
        {.group = GroupHandle{9}, .data = data},
        {.data = data, .block_bytes = three},
        {.data = data, .block_bytes = short_of},
        {.data = data, .block_bytes = split},
        {.kind = CollectiveKind::kBroadcast, .data = data, .root = 2},
        {.kind = CollectiveKind::kBroadcast, .data = data, .root = -1},
        {.data = data, .received = other},
        {.kind = CollectiveKind::kAllToAll, .data = data, .received = other, .received_block_bytes = short_of},
        {.kind = CollectiveKind::kShiftNext, .data = data},
    };
    const auto refused = [](const auto& act) {
      try {
        act();
      } catch (const std::invalid_argument&) {
        return true;
      }
      return false;
    };
    for (std::size_t i = 0; i < calls.size(); ++i) {
      require(refused([&] { c.post(calls[i]); }), fmt::format("call {}", i));
    }
    for (const std::vector<int>& members : {std::vector<int>{1 - c.rank()}, {0, 1, 1}, {0, 1, 2}, {-1, 0, 1}, {}}) {
      require(refused([&] { c.group(members); }), fmt::format("group of {}", members.size()));
    }
    require(refused([&] { c.send(2, 0, data); }) && refused([&] { c.receive(-1, 0, data); }), "no such rank");
    return "";
  });
}

// ---- Mismatches -------------------------------------------------------------------------------------------------

TEST_P(Contract, MismatchedCollectivesAreNamed) {
  struct Case {
    std::string what;
    std::function<void(CollectiveCall&)> odd;  ///< what rank 1 does to the call
    std::string named;
  };
  static const std::vector<std::size_t> blocks{40'000, 0, 20'000};
  static std::vector<std::byte> data(60'000);
  const std::vector<Case> cases = {
      {"kind", [](CollectiveCall& c) { c.kind = CollectiveKind::kAllGather; }, "all-gather of 60000 bytes"},
      {"rooted", [](CollectiveCall& c) { c.kind = CollectiveKind::kBroadcast; }, "broadcast of 60000 bytes"},
      {"bytes", [](CollectiveCall& c) { c.data = c.data.first(59'996); }, "of 59996 bytes"},
      {"few bytes", [](CollectiveCall& c) { c.data = c.data.first(400); }, "of 400 bytes"},
      {"reduction", [](CollectiveCall& c) { c.reduction = Reduction::kMax; }, "all-reduce max"},
      {"element", [](CollectiveCall& c) { c.element = Element::kInt64; }, "int64"},
      {"blocks", [](CollectiveCall& c) { c.block_bytes = blocks; }, "all-reduce sum"},
      {"tag", [](CollectiveCall& c) { c.tag = 5; }, "tag 5"},
  };
  for (const Case& c : cases) {
    const auto outcomes = expect_failure(Failure::kMismatch, -1, 3, [&c](const RankSeat& seat) {
      CollectiveCall call{.data = data};
      if (seat.communicator.rank() == 1) c.odd(call);
      seat.communicator.wait(seat.communicator.post(call));
      return "";
    });
    for (const Outcome& outcome : outcomes) {
      EXPECT_THAT(outcome.error, HasSubstr(c.named)) << c.what;
      EXPECT_THAT(outcome.error, HasSubstr("collective 0 of group {0 1 2}")) << c.what;
    }
  }
}

TEST_P(Contract, DisagreementAboutTheRootIsNoticed) {
  expect_failure(Failure::kMismatch, -1, 3, [](const RankSeat& seat) {
    std::vector<std::byte> data(100);
    const int root = seat.communicator.rank() == 2 ? 1 : 2;
    seat.communicator.wait(seat.communicator.post({.kind = CollectiveKind::kBroadcast, .data = data, .root = root}));
    return "";
  });
}

TEST_P(Contract, LeavingWhileNotNeededHurtsNobody) {
  const std::vector<std::byte> last = marked(1, 1'000'000);  // outlives the communicator, which sends it as it leaves
  expect_well(3, [&last](const RankSeat& seat) {
    Communicator& c = seat.communicator;
    const std::vector<int> members{0, 2};
    all_reduce(c, kWorld, 0, Reduction::kSum);
    if (c.rank() == 1) c.send(0, 0, last);  // leaves without waiting
    if (c.rank() == 1) return "";
    for (int i = 0; i < 100; ++i) all_reduce(c, c.group(members), 0, Reduction::kSum);
    std::vector<std::byte> received(1'000'000);
    if (c.rank() == 0) c.wait(c.receive(1, 0, received));
    if (c.rank() == 0) require_marks(received, 1, 0, "the last message");
    return "";
  });
}

// ---- Faults -----------------------------------------------------------------------------------------------------

TEST_P(Faults, MessageOfAnotherSizeIsNoticed) {
  for (const std::size_t size : {50u, 200'000u}) {
    const auto outcomes = expect_failure(Failure::kMismatch, -1, 2, [size](const RankSeat& seat) {
      std::vector<std::byte> data(seat.communicator.rank() == 0 ? size : 60);
      Communicator& c = seat.communicator;
      c.wait(c.rank() == 0 ? c.send(1, 3, data) : c.receive(0, 3, data));
      all_reduce(c, kWorld, 0, Reduction::kSum);
      return "";
    });
    EXPECT_THAT(outcomes[1].error, HasSubstr(fmt::format("rank 0 sends {} bytes, not 60", size)));
  }
}

// Each waits for the collective that the other posts second: nobody is dead, nobody will ever move.
TEST_P(Faults, WaitingInACircleIsNamed) {
  const auto outcomes = expect_failure(Failure::kMismatch, -1, 3,
                                       [](const RankSeat& seat) {
                                         Communicator& c = seat.communicator;
                                         std::vector<std::byte> data(100);
                                         const std::vector<int> order{0, 1, 2}, reverse{2, 1, 0};
                                         const GroupHandle one = c.group(order), other = c.group(reverse);
                                         c.wait(c.post({.group = c.rank() == 1 ? other : one, .data = data}));
                                         return "";
                                       },
                                       {.deadline = milliseconds(800)});
  EXPECT_THAT(outcomes[1].error, HasSubstr("they wait for each other"));
}

/// All-reduces for ever; ready after the first.
std::string reduce_for_ever(const RankSeat& seat) {
  std::vector<float> values(500'000);
  for (bool first = true;; first = false) {
    seat.communicator.wait(seat.communicator.post({.data = bytes_of(values)}));
    if (first) seat.tell_ready();
  }
}

TEST_P(Faults, KilledRankIsNamedByAll) {
  for (const int ranks : {2, 4, 8}) {
    const int victim = ranks / 2;
    const RunOptions options{.meanwhile = [victim](const Ranks& running) {
      std::this_thread::sleep_for(milliseconds(20));
      ::kill(running.pids[static_cast<std::size_t>(victim)], SIGKILL);
    }};
    const auto outcomes = expect_failure(Failure::kPeerLost, victim, ranks, reduce_for_ever, options);
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == victim) continue;
      EXPECT_THAT(outcomes[static_cast<std::size_t>(rank)].error,
                  HasSubstr(fmt::format("lost rank {}: its process has ended", victim)));
    }
  }
}

// A rank that computes while another dies learns the truth, though the survivors have closed their sockets, too.
TEST_P(Faults, LateReaderBlamesTheDead) {
  const RunOptions options{.meanwhile = [](const Ranks& running) { ::kill(running.pids[3], SIGKILL); }};
  expect_failure(
      Failure::kPeerLost, 3, 4,
      [](const RankSeat& seat) {
        all_reduce(seat.communicator, kWorld, 0, Reduction::kSum);
        seat.tell_ready();
        if (seat.communicator.rank() == 1) std::this_thread::sleep_for(milliseconds(300));
        return reduce_for_ever(seat);
      },
      options);
}

TEST_P(Faults, StoppedRankIsNamedAtTheDeadline) {
  for (const int ranks : {2, 5}) {
    const int victim = ranks - 1;
    const RunOptions options{.deadline = milliseconds(1000), .meanwhile = [victim](const Ranks& running) {
                               stop(running.pids[static_cast<std::size_t>(victim)]);
                             }};
    const auto outcomes = expect_failure(Failure::kStalled, victim, ranks, reduce_for_ever, options);
    EXPECT_THAT(outcomes[0].error, HasSubstr(fmt::format("rank {}, which has shown no sign of life", victim)));
  }
}

TEST_P(Faults, DeadlineCountsLackOfProgressOnly) {
  expect_well(2,
              [](const RankSeat& seat) {
                std::vector<float> values(3'000'000);  // far more than the sockets hold
                const Request sum = seat.communicator.post({.data = bytes_of(values)});
                for (int i = 0; i < 6 && seat.communicator.rank() == 1; ++i) {  // dawdles: some bytes every 400 ms
                  std::this_thread::sleep_for(milliseconds(400));
                  for (int burst = 0; burst < 3; ++burst) seat.communicator.test(sum);
                }
                seat.communicator.wait(sum);
                return "";
              },
              {.deadline = milliseconds(2000)});
}

TEST_P(Faults, AbortFromOutsideEndsEveryWait) {
  const RunOptions options{.meanwhile = [](const Ranks& running) {
    std::this_thread::sleep_for(milliseconds(10));
    ASSERT_EQ(::write(running.abort, "a", 1), 1);
  }};
  for (const int ranks : {1, 3}) {
    expect_failure(
        Failure::kAborted, -1, ranks,
        [](const RankSeat& seat) -> std::string {
          Communicator& c = seat.communicator;
          seat.tell_ready();
          std::vector<std::byte> data(10);
          if (c.ranks() == 1 || c.rank() == 0) {
            while (true) c.progress();
          }
          c.wait(c.receive(0, 0, data));  // which is never sent
          return "not aborted";
        },
        options);
  }
}

TEST_P(Faults, LeavingWhileNeededIsNamed) {
  expect_failure(Failure::kPeerLeft, 1, 3, [](const RankSeat& seat) {
    all_reduce(seat.communicator, kWorld, 0, Reduction::kSum);
    if (seat.communicator.rank() != 1) all_reduce(seat.communicator, kWorld, 0, Reduction::kSum);
    return "";
  });
}

TEST_P(Faults, BrokenOnceBrokenForEver) {
  expect_failure(Failure::kPeerLeft, 1, 2, [](const RankSeat& seat) -> std::string {
    Communicator& c = seat.communicator;
    if (c.rank() == 1) return "";
    std::string first;
    try {
      all_reduce(c, kWorld, 0, Reduction::kSum);
    } catch (const CommunicationError& error) {
      first = error.what();
    }
    try {
      c.progress();
    } catch (const CommunicationError& error) {
      require(first == error.what(), error.what());
      throw;
    }
    return "goes on";
  });
}

TEST(EvenBlocks, WholeElementsLargestFirst) {
  EXPECT_THAT(even_blocks(40, 4, 4), ::testing::ElementsAre(12, 12, 8, 8));
  EXPECT_THAT(even_blocks(4, 3, 4), ::testing::ElementsAre(4, 0, 0));
  EXPECT_THAT(even_blocks(10, 2, 4), ::testing::ElementsAre(4, 6));
}

}  // namespace
}  // namespace executor
