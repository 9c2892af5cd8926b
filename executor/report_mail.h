// Reports of ranks that have no supervisor: their lines go to rank 0 through the run's own communicator.
//
//   rank r > 0 -> rank 0    size of the line, the line; ...; size 0: that was all
//
// Nobody waits for them while the run goes on: rank 0 takes what is here when it reports something itself.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>

#include "executor/communicator/communicator.h"

namespace executor {

class ReportMail {
 public:
  /// `heard` is called on rank 0, for its own lines too; the lines of one rank arrive in order.
  using Heard = std::function<void(int rank, std::string_view line)>;
  /// Keeps the communicator's address. Its ranks use no tag kReportTag of their own.
  ReportMail(Communicator& communicator, Heard heard);
  ReportMail(const ReportMail&) = delete;
  ReportMail& operator=(const ReportMail&) = delete;

  /// A line of this rank, not empty.
  void post(std::string_view line);
  /// After the last line. Returns when all of this rank's lines have left and, on rank 0, everybody's have come.
  void close();

  static constexpr std::uint64_t kReportTag = ~std::uint64_t{0};  ///< above every message of a step (run_rank.cpp)

 private:
  /// A line on its way from this rank.
  struct Letter {
    std::uint64_t size = 0;
    std::string line = {};
    std::array<Request, 2> sends = {};
  };
  /// Where rank 0 receives the lines of one rank, one after the other.
  struct Box {
    int rank = 0;
    std::uint64_t size = 0;
    std::string line = {};
    bool line_comes = false;  ///< its size is here
    Request receive = {};     ///< none: the rank has closed
  };

  void send(std::string_view line);
  void empty(Box& box);

  Communicator& communicator_;
  Heard heard_;
  std::list<Letter> letters_;  // they and the boxes stay where they are while bytes move
  std::list<Box> boxes_;
};

}  // namespace executor
