#include "executor/communicator/socket_mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "tests/executor/communicator/forked_ranks.h"

namespace executor {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

/// Every rank writes its number to every peer and closes; returns what arrived, per rank.
std::vector<std::vector<int>> introduce(const std::vector<std::vector<int>>& mesh) {
  std::vector<std::vector<int>> heard(mesh.size(), std::vector<int>(mesh.size(), -1));
  for (std::size_t rank = 0; rank < mesh.size(); ++rank) {
    for (const int socket : mesh[rank]) {
      const auto word = static_cast<int>(rank);
      if (socket < 0) continue;
      EXPECT_EQ(::send(socket, &word, sizeof word, 0), static_cast<ssize_t>(sizeof word));
    }
  }
  for (std::size_t rank = 0; rank < mesh.size(); ++rank) {
    for (std::size_t peer = 0; peer < mesh.size(); ++peer) {
      const int socket = mesh[rank][peer];
      if (socket < 0) continue;
      EXPECT_EQ(::recv(socket, &heard[rank][peer], sizeof(int), 0), static_cast<ssize_t>(sizeof(int)));
    }
  }
  for (const auto& sockets : mesh) {
    for (const int socket : sockets) ::close(socket);
  }
  return heard;
}

void expect_everybody_met(const std::vector<std::vector<int>>& heard) {
  for (std::size_t rank = 0; rank < heard.size(); ++rank) {
    for (std::size_t peer = 0; peer < heard.size(); ++peer) {
      EXPECT_EQ(heard[rank][peer], rank == peer ? -1 : static_cast<int>(peer));
    }
  }
}

TEST(SocketMesh, ConnectsEveryPair) {
  for (const int ranks : {1, 2, 5}) expect_everybody_met(introduce(socket_mesh(ranks)));
}

/// One thread per rank.
std::vector<std::vector<int>> tcp_threads(int ranks, const MasterAddress& master) {
  std::vector<std::vector<int>> mesh(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = ranks - 1; rank >= 0; --rank) {  // rank 0, at which all others knock, comes last
    threads.emplace_back([&mesh, rank, ranks, &master] {
      if (rank == 0) std::this_thread::sleep_for(milliseconds(100));
      mesh[static_cast<std::size_t>(rank)] = tcp_mesh(rank, ranks, master, std::chrono::seconds(20));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return mesh;
}

TEST(TcpMesh, ConnectsEveryPair) {
  for (const int ranks : {1, 2, 5}) {
    expect_everybody_met(introduce(tcp_threads(ranks, {"localhost", free_port()})));
  }
}

TEST(TcpMesh, StrangersAreTurnedAway) {
  const MasterAddress master{"127.0.0.1", free_port()};
  std::thread stranger([&master] {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(master.port));
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    while (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    const std::string words = "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n";
    ::send(socket, words.data(), words.size(), MSG_NOSIGNAL);
    ::close(socket);
  });
  std::vector<int> rank_1;
  std::thread other([&] {
    stranger.join();  // the master listens, and has heard the stranger first
    rank_1 = tcp_mesh(1, 2, master, std::chrono::seconds(20));
  });
  const std::vector<int> rank_0 = tcp_mesh(0, 2, master, std::chrono::seconds(20));
  other.join();
  expect_everybody_met(introduce({rank_0, rank_1}));
}

std::string error_of(int rank, int ranks, const MasterAddress& master, milliseconds patience) {
  try {
    tcp_mesh(rank, ranks, master, patience);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(TcpMesh, MissingRanksAreNamed) {
  const MasterAddress master{"127.0.0.1", free_port()};
  std::string rank_1;
  std::thread other([&] { rank_1 = error_of(1, 4, master, milliseconds(400)); });
  EXPECT_THAT(error_of(0, 4, master, milliseconds(300)), HasSubstr("no word from rank 2, 3 within 300 ms"));
  other.join();
  EXPECT_THAT(rank_1, HasSubstr("rank 1 of 4 can't join the run at 127.0.0.1:"));
}

TEST(TcpMesh, NobodyThere) {
  EXPECT_THAT(error_of(1, 2, {"127.0.0.1", free_port()}, milliseconds(100)),
              HasSubstr("nobody answers within 100 ms: Connection refused"));
  EXPECT_THAT(error_of(1, 2, {"no.such.host.invalid", 1}, milliseconds(100)), HasSubstr("no.such.host.invalid:1"));
}

TEST(TcpMesh, DisagreementAboutTheNumberOfRanks) {
  const MasterAddress master{"127.0.0.1", free_port()};
  std::string rank_1;
  std::thread other([&] { rank_1 = error_of(1, 3, master, std::chrono::seconds(5)); });
  EXPECT_THAT(error_of(0, 2, master, std::chrono::seconds(5)), HasSubstr("rank 1 of 3 came"));
  other.join();
  EXPECT_THAT(rank_1, HasSubstr("does it expect as many ranks?"));
}

}  // namespace
}  // namespace executor
