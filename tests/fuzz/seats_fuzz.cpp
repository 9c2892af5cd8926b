// A table of seats is read or refused with InputError, whatever the bytes are; what was read is one GPU for every rank.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>

#include "scenarios/load/diagnostics.h"
#include "scenarios/load/seats.h"

namespace {

constexpr scenarios::SeatLimits kLimits{.ranks = 4, .hosts = 2, .gpus_per_host = 3, .nics_per_host = 2};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    std::set<std::pair<int, int>> gpus;
    const auto seats = scenarios::parse_seats(text, "seats.csv", kLimits);
    for (const strategies::Seat& seat : seats) {
      const bool inside = seat.host >= 0 && seat.host < kLimits.hosts && seat.device >= 0 &&
                          seat.device < kLimits.gpus_per_host && seat.nic >= -1 && seat.nic < kLimits.nics_per_host;
      if (!inside || !gpus.emplace(seat.host, seat.device).second) std::abort();
    }
    if (seats.size() != static_cast<std::size_t>(kLimits.ranks)) std::abort();
  } catch (const scenarios::InputError& refused) {
    if (!std::string_view(refused.what()).starts_with("seats.csv:")) std::abort();
  }
  return 0;
}
