#include "executor/report_mail.h"

#include <algorithm>
#include <span>
#include <utility>

namespace executor {

ReportMail::ReportMail(Communicator& communicator, Heard heard)
    : communicator_(communicator), heard_(std::move(heard)) {
  if (communicator_.rank() != 0) return;
  for (int rank = 1; rank < communicator_.ranks(); ++rank) {
    Box& box = boxes_.emplace_back(Box{.rank = rank});
    box.receive = communicator_.receive(rank, kReportTag, std::as_writable_bytes(std::span(&box.size, 1)));
  }
}

void ReportMail::post(std::string_view line) {
  if (communicator_.rank() != 0) {
    send(line);
    std::erase_if(letters_, [this](const Letter& letter) {
      return std::ranges::all_of(letter.sends, [this](Request send) { return communicator_.test(send); });
    });
    return;
  }
  heard_(0, line);
  for (Box& box : boxes_) {
    while (box.receive != Request{} && communicator_.test(box.receive)) empty(box);
  }
}

void ReportMail::close() {
  if (communicator_.rank() != 0) send("");
  for (const Letter& letter : letters_) {
    for (const Request send : letter.sends) communicator_.wait(send);
  }
  letters_.clear();
  for (Box& box : boxes_) {
    while (box.receive != Request{}) {
      communicator_.wait(box.receive);
      empty(box);
    }
  }
}

void ReportMail::send(std::string_view line) {
  Letter& letter = letters_.emplace_back(Letter{.size = line.size(), .line = std::string(line)});
  letter.sends[0] = communicator_.send(0, kReportTag, std::as_bytes(std::span(&letter.size, 1)));
  if (line.empty()) return;
  letter.sends[1] = communicator_.send(0, kReportTag, std::as_bytes(std::span(letter.line)));
}

/// What was to be received is here.
void ReportMail::empty(Box& box) {
  if (box.line_comes) heard_(box.rank, box.line);
  box.line_comes = !box.line_comes;
  box.receive = {};
  if (!box.line_comes) {
    box.receive = communicator_.receive(box.rank, kReportTag, std::as_writable_bytes(std::span(&box.size, 1)));
  } else if (box.size > 0) {
    box.line.resize(box.size);
    box.receive = communicator_.receive(box.rank, kReportTag, std::as_writable_bytes(std::span(box.line)));
  }
}

}  // namespace executor
