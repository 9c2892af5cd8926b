// The same transfers on the same links, in our fluid network and in SimGrid's (model CM02, max-min fair, no TCP
// corrections): the same ends within 1e-6.
#include <gtest/gtest.h>

#ifdef TRAINYARD_SIMGRID

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "tests/sim/fluid_cases.h"

namespace sim {
namespace {

/// One sender and one receiver per transfer, joined by its links. Times in seconds.
std::vector<double> simgrid_ends(const FluidCase& fluid_case) {
  namespace s4u = simgrid::s4u;
  std::vector<std::string> words{"simgrid_tests",
                                 "--cfg=network/model:CM02",
                                 "--cfg=network/TCP-gamma:0",
                                 "--cfg=network/crosstraffic:0",
                                 "--cfg=network/bandwidth-factor:1",
                                 "--cfg=network/latency-factor:1",
                                 "--cfg=network/weight-S:0",
                                 "--cfg=surf/precision:1e-12",
                                 "--cfg=maxmin/precision:1e-9",
                                 "--log=root.thresh:critical"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  s4u::Engine engine(&count, arguments.data());
  s4u::NetZone* zone = s4u::create_full_zone("zone");
  std::vector<const s4u::Link*> links;
  for (const double capacity : fluid_case.capacities) {
    links.push_back(zone->create_link("l" + std::to_string(links.size()), capacity)->set_latency(0)->seal());
  }
  std::vector<double> ends(fluid_case.transfers.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const FluidCase::Transfer& transfer = fluid_case.transfers[i];
    s4u::Host* from = zone->create_host("from" + std::to_string(i), 1e9)->seal();
    s4u::Host* to = zone->create_host("to" + std::to_string(i), 1e9)->seal();
    std::vector<s4u::LinkInRoute> route;
    for (const LinkUse& use : transfer.uses) route.emplace_back(links[use.link]);
    zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, route, false);
    s4u::Actor::create("actor" + std::to_string(i), from, [&transfer, &ends, from, to, i] {
      s4u::this_actor::sleep_until(static_cast<double>(transfer.start_ns) * 1e-9);
      s4u::Comm::sendto(from, to, static_cast<std::uint64_t>(transfer.bytes));
      ends[i] = s4u::Engine::get_clock();
    });
  }
  zone->seal();
  engine.run();
  return ends;
}

/// SimGrid allows one engine per process: each case runs in a child, which writes its answer to a pipe.
std::vector<double> simgrid_ends_in_a_child(const FluidCase& fluid_case) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    const std::vector<double> ends = simgrid_ends(fluid_case);
    const std::size_t size = ends.size() * sizeof(double);
    _exit(write(pipe_ends[1], ends.data(), size) == static_cast<ssize_t>(size) ? 0 : 1);
  }
  close(pipe_ends[1]);
  std::vector<double> ends(fluid_case.transfers.size());
  const std::size_t size = ends.size() * sizeof(double);  // below the size of a pipe's buffer
  std::size_t had = 0;
  while (had < size) {
    const ssize_t got = read(pipe_ends[0], reinterpret_cast<char*>(ends.data()) + had, size - had);
    if (got <= 0) break;
    had += static_cast<std::size_t>(got);
  }
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return had == size && status == 0 ? ends : std::vector<double>{};
}

TEST(FluidNetworkAgainstSimGrid, SameEnds) {
  const std::vector<CaseKind> kinds{{.links = 1, .transfers = 5, .most_links = 1, .plain = true},
                                    {.links = 4, .transfers = 20, .most_links = 3, .plain = true},
                                    {.links = 12, .transfers = 80, .most_links = 4, .plain = true},
                                    {.links = 40, .transfers = 100, .most_links = 2, .plain = true},
                                    {.links = 10, .transfers = 60, .most_links = 4, .plain = true, .ties = true}};
  for (const CaseKind& kind : kinds) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      FluidCase c = random_case(seed, kind);
      for (auto& transfer : c.transfers) transfer.bytes *= 1'000;  // so that a nanosecond is less than 1e-6 of it
      const std::vector<std::int64_t> ours = ends_of(c);
      const std::vector<double> theirs = simgrid_ends_in_a_child(c);
      ASSERT_EQ(theirs.size(), ours.size());
      for (std::size_t i = 0; i < ours.size(); ++i) {
        const double end = static_cast<double>(ours[i]) * 1e-9;
        ASSERT_NEAR(end, theirs[i], 1e-6 * end + 5e-9)
            << "links " << kind.links << ", seed " << seed << ", transfer " << i;
      }
    }
  }
}

}  // namespace
}  // namespace sim

#else

TEST(FluidNetworkAgainstSimGrid, SameEnds) { GTEST_SKIP() << "built without SimGrid (Debian: libsimgrid-dev)"; }

#endif
