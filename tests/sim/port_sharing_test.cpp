#include "sim/port_sharing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace sim {
namespace {

PortLoad nic_out(std::int32_t share, std::int32_t multiprocessors = 0, std::int32_t memory = 0) {
  PortLoad load{.multiprocessors = multiprocessors, .memory = memory};
  load.ports[static_cast<std::size_t>(hw_models::Port::kNicOut)] = share;
  return load;
}

TEST(PortSharing, AloneEveryTransferHasItsOwnRate) {
  PortLoads loads;
  const LoadId id = loads.add(nic_out(kFullRate));
  PortSharing sharing(loads);
  EXPECT_EQ(sharing.among({id}).transfers, std::vector<std::int32_t>{kFullRate});
  EXPECT_EQ(sharing.among({}).kernels, (std::array<std::int32_t, 3>{kFullRate, kFullRate, kFullRate}));
}

TEST(PortSharing, TwoEqualsHalveAPortAndThreeHaveAThird) {
  PortLoads loads;
  const LoadId id = loads.add(nic_out(kFullRate));
  PortSharing sharing(loads);
  EXPECT_EQ(sharing.among({id, id}).transfers, (std::vector<std::int32_t>{2048, 2048}));
  EXPECT_EQ(sharing.among({id, id, id}).transfers, (std::vector<std::int32_t>{1365, 1365, 1365}));
}

// Equal bytes for each: half of the port is all that the first wants, so it runs at full speed and the other at half.
// With three quarters wanted, both get half of the port: 2/3 and 1/2 of their speed.
TEST(PortSharing, APortIsSharedByBytes) {
  PortLoads loads;
  const LoadId half = loads.add(nic_out(2048)), most = loads.add(nic_out(3072)), all = loads.add(nic_out(kFullRate));
  PortSharing sharing(loads);
  EXPECT_EQ(sharing.among({half, all}).transfers, (std::vector<std::int32_t>{kFullRate, 2048}));
  EXPECT_EQ(sharing.among({most, all}).transfers, (std::vector<std::int32_t>{2730, 2048}));
}

TEST(PortSharing, DirectionsAndOtherPortsDoNotMeet) {
  PortLoads loads;
  const LoadId out = loads.add(nic_out(kFullRate));
  const LoadId in = loads.at_receiver[out];
  EXPECT_EQ(loads.at_receiver[in], out);
  PortSharing sharing(loads);
  EXPECT_EQ(sharing.among({out, in}).transfers, (std::vector<std::int32_t>{kFullRate, kFullRate}));
}

// Two transfers that hold 512 multiprocessors' shares each leave 3/4 whatever their rates; the memory they use shrinks
// with their rates.
TEST(PortSharing, KernelsKeepWhatTransfersLeave) {
  PortLoads loads;
  const LoadId id = loads.add(nic_out(kFullRate, 512, 1024));
  PortSharing sharing(loads);
  EXPECT_EQ(sharing.among({id}).kernels, (std::array<std::int32_t, 3>{kFullRate, 3584, 3072}));
  EXPECT_EQ(sharing.among({id, id}).kernels, (std::array<std::int32_t, 3>{kFullRate, 3072, 3072}));
}

TEST(PortSharing, NoPortCarriesMoreThanItCan) {
  PortLoads loads;
  std::vector<LoadId> ids;
  for (std::int32_t i = 1; i <= 6; ++i) {
    PortLoad load;
    for (std::size_t port = 0; port < load.ports.size(); ++port) {
      load.ports[port] = (i * 1663 + static_cast<std::int32_t>(port) * 977) % (kFullRate + 1);
    }
    ids.push_back(loads.add(load));
  }
  std::sort(ids.begin(), ids.end());
  PortSharing sharing(loads);
  for (std::size_t count = 1; count <= ids.size(); ++count) {
    const std::vector<LoadId> some(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
    const PortSharing::Rates& rates = sharing.among(some);
    for (std::size_t port = 0; port < hw_models::kPorts; ++port) {
      std::int64_t carried = 0;
      for (std::size_t i = 0; i < count; ++i)
        carried += loads.all[some[i]].ports[port] * std::int64_t{rates.transfers[i]};
      EXPECT_LE(carried, std::int64_t{kFullRate} * kFullRate);
    }
  }
}

}  // namespace
}  // namespace sim
