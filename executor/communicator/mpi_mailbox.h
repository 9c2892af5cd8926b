// Messages between two ranks over MPI. MPI's tags have fewer than 32 bits, ours 64, and MPI lets a large send wait for
// its receive, which the contract does not: every message is announced by a header, whose receiver then knows where the
// bytes go, or keeps them for a receive that is still to be posted.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <span>
#include <vector>

namespace executor {

/// A send or a receive under way, or bytes that came early. Stays where it is until it is complete.
struct MpiMessage {
  struct Header {
    std::uint64_t tag = 0, bytes = 0;
  };
  int peer = 0;
  Header header;
  std::span<std::byte> target = {};   ///< of a receive
  bool moving = true;                 ///< false: of a receive that awaits its header
  std::vector<std::byte> early = {};  ///< where the bytes are that came before their receive
  std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

class MpiMailbox {
 public:
  /// `wrong_size` is told of a receive whose message has another size, and throws.
  using WrongSize = std::function<void(const MpiMessage& receive, std::uint64_t sent)>;
  MpiMailbox(MPI_Comm ranks, WrongSize wrong_size);
  ~MpiMailbox();
  MpiMailbox(const MpiMailbox&) = delete;
  MpiMailbox& operator=(const MpiMailbox&) = delete;

  void send(MpiMessage& message, std::span<const std::byte> data);
  void receive(MpiMessage& message);
  /// Takes the headers that are here. True if there were any.
  bool progress();
  /// True once, when it is.
  bool complete(MpiMessage& message);

 private:
  void listen();
  void expect_payload(int from, const MpiMessage::Header& header);

  MPI_Comm ranks_;
  WrongSize wrong_size_;
  MpiMessage::Header announced_;
  MPI_Request listening_ = MPI_REQUEST_NULL;
  std::list<MpiMessage*> awaited_;  ///< receives without a header, in the order of their posts
  std::list<MpiMessage> early_;     ///< messages without a receive, in the order of their headers
};

}  // namespace executor
