// Rendezvous of ranks on several machines.
//
//   rank r > 0 -> master    Hello{magic, r, ranks, port at which r listens}
//   master -> rank r        table of all ranks' addresses, when all have said hello
//   rank r -> rank q < r    Hello, on a connection of its own (q > 0; the one to the master stays in use)
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>

#include "executor/communicator/socket_mesh.h"

namespace executor {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::uint64_t kMagic = 0x31647261796e6961;  ///< "ainyard1"
constexpr milliseconds kRetry{50};                    ///< the master may start later than we

struct Hello {
  std::uint64_t magic = kMagic;
  std::int32_t rank = 0, ranks = 0;
  std::uint32_t port = 0, unused = 0;
};

/// Where a rank listens; address 0: on the master's machine.
struct Place {
  std::uint32_t address = 0, port = 0;  ///< in network byte order, in host byte order
};

class Rendezvous {
 public:
  Rendezvous(int rank, int ranks, const MasterAddress& master, milliseconds patience)
      : rank_(rank), ranks_(ranks), master_(master), end_(Clock::now() + patience), patience_(patience) {
    sockets_.assign(static_cast<std::size_t>(ranks), -1);
  }
  ~Rendezvous() {
    if (listener_ >= 0) ::close(listener_);
    for (const int socket : sockets_) {
      if (socket >= 0) ::close(socket);
    }
  }
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  std::vector<int> meet() {
    if (ranks_ == 1) return std::move(sockets_);
    listen_at(rank_ == 0 ? static_cast<std::uint16_t>(master_.port) : std::uint16_t{0});
    std::vector<Place> places(static_cast<std::size_t>(ranks_));
    const std::span<std::byte> table = std::as_writable_bytes(std::span(places));
    if (rank_ == 0) {
      for (int missing = ranks_ - 1; missing > 0; --missing) accept_one(&places);
      for (int other = 1; other < ranks_; ++other) send_all(socket_of(other), table);
    } else {
      const in_addr master = resolve();
      socket_of(0) = connect_to(master, static_cast<std::uint16_t>(master_.port));
      receive_all(socket_of(0), table, "the master closed the connection: does it expect as many ranks?");
      for (int other = 1; other < rank_; ++other) {
        const Place& place = places[static_cast<std::size_t>(other)];
        const in_addr address{place.address == 0 ? master.s_addr : place.address};
        socket_of(other) = connect_to(address, static_cast<std::uint16_t>(place.port));
      }
      for (int missing = ranks_ - 1 - rank_; missing > 0; --missing) accept_one(nullptr);
    }
    return std::exchange(sockets_, {});
  }

 private:
  int& socket_of(int rank) { return sockets_[static_cast<std::size_t>(rank)]; }

  [[noreturn]] void fail(const std::string& reason) const {
    throw std::runtime_error(fmt::format("rank {} of {} can't join the run at {}:{}: {}", rank_, ranks_, master_.host,
                                         master_.port, reason));
  }

  int left() const {
    return static_cast<int>(
        std::max<std::int64_t>(0, std::chrono::duration_cast<milliseconds>(end_ - Clock::now()).count()));
  }

  static int new_socket() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return socket;
  }

  static void set_no_delay(int socket) {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  void listen_at(std::uint16_t port) {
    listener_ = new_socket();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_, ranks_) != 0) {
      fail(fmt::format("can't listen at port {}: {}", port, std::strerror(errno)));
    }
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    own_port_ = ntohs(address.sin_port);
  }

  in_addr resolve() const {
    addrinfo hints{};
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int error = ::getaddrinfo(master_.host.c_str(), nullptr, &hints, &found);
    if (error != 0) fail(::gai_strerror(error));
    const in_addr address = reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr;
    ::freeaddrinfo(found);
    return address;
  }

  /// Says hello. Tries until somebody listens there.
  int connect_to(in_addr host, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr = host;
    address.sin_port = htons(port);
    while (true) {
      const int socket = new_socket();
      if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
        const Hello hello{.rank = rank_, .ranks = ranks_, .port = own_port_};
        set_no_delay(socket);
        send_all(socket, std::as_bytes(std::span(&hello, 1)));
        return socket;
      }
      const int error = errno;
      ::close(socket);
      if (left() == 0) fail(fmt::format("nobody answers within {} ms: {}", patience_.count(), std::strerror(error)));
      std::this_thread::sleep_for(kRetry);
    }
  }

  /// Strangers are turned away; a rank that expects another number of ranks ends the run.
  void accept_one(std::vector<Place>* places) {
    while (true) {
      pollfd polled{listener_, POLLIN, 0};
      if (::poll(&polled, 1, left()) <= 0 && left() == 0) fail_missing();
      sockaddr_in from{};
      socklen_t size = sizeof from;
      const int socket = ::accept4(listener_, reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC);
      if (socket < 0) continue;
      Hello hello{.magic = 0};
      if (!receive_some(socket, std::as_writable_bytes(std::span(&hello, 1))) || hello.magic != kMagic) {
        ::close(socket);
        continue;
      }
      if (hello.ranks != ranks_ || hello.rank <= rank_ || hello.rank >= ranks_ || socket_of(hello.rank) >= 0) {
        ::close(socket);
        fail(fmt::format("rank {} of {} came: a second one, or of another run", hello.rank, hello.ranks));
      }
      set_no_delay(socket);
      socket_of(hello.rank) = socket;
      const bool here = ntohl(from.sin_addr.s_addr) >> 24 == 127;
      if (places) (*places)[static_cast<std::size_t>(hello.rank)] = {here ? 0 : from.sin_addr.s_addr, hello.port};
      return;
    }
  }

  [[noreturn]] void fail_missing() {
    std::vector<int> missing;
    for (int other = rank_ + 1; other < ranks_; ++other) {
      if (socket_of(other) < 0) missing.push_back(other);
    }
    fail(fmt::format("no word from rank {} within {} ms", fmt::join(missing, ", "), patience_.count()));
  }

  void send_all(int socket, std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n < 0 && errno != EINTR) fail(std::strerror(errno));
      if (n > 0) bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
  }

  bool receive_some(int socket, std::span<std::byte> bytes) const {
    while (!bytes.empty()) {
      pollfd polled{socket, POLLIN, 0};
      if (::poll(&polled, 1, left()) <= 0 && left() == 0) return false;
      const ssize_t n = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) return false;
      if (n > 0) bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return true;
  }

  void receive_all(int socket, std::span<std::byte> bytes, const char* otherwise) const {
    if (receive_some(socket, bytes)) return;
    fail(left() == 0 ? fmt::format("the others are not complete within {} ms", patience_.count()) : otherwise);
  }

  int rank_, ranks_;
  MasterAddress master_;
  Clock::time_point end_;
  milliseconds patience_;
  int listener_ = -1;
  std::uint16_t own_port_ = 0;
  std::vector<int> sockets_;
};

}  // namespace

std::vector<int> tcp_mesh(int rank, int ranks, const MasterAddress& master, std::chrono::milliseconds patience) {
  return Rendezvous(rank, ranks, master, patience).meet();
}

}  // namespace executor
