#include "hw_models/cluster_check.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/programs/cluster_examples.h"

namespace hw_models {
namespace {

struct Contradiction {
  const char* field;
  std::function<void(ClusterSpec&)> make;
};

std::function<void(ClusterSpec&)> with_links(std::vector<PairLink> links) {
  return [links = std::move(links)](ClusterSpec& spec) {
    spec.node.scale_up = ScaleUpKind::kLinks;
    spec.node.links = links;
  };
}

std::function<void(ClusterSpec&)> with_wiring(std::function<void(PcieWiring&)> change) {
  return [change = std::move(change)](ClusterSpec& spec) {
    spec.node.wiring = examples::shuffled_rails(2).node.wiring;
    change(*spec.node.wiring);
  };
}

const std::vector<Contradiction>& contradictions() {
  static const std::vector<Contradiction> table = {
      {"nodes", [](ClusterSpec& s) { s.nodes = 0; }},
      {"nodes", [](ClusterSpec& s) { s.nodes = 1'000'000'000; }},
      {"node.gpus", [](ClusterSpec& s) { s.node.gpus = 0; }},
      {"node.gpus", [](ClusterSpec& s) { s.node.gpus = -8; }},
      {"node.gpus", [](ClusterSpec& s) { s.node.gpus = 1 << 30; }},
      {"node.gpus",
       [](ClusterSpec& s) {
         s.node.scale_up = ScaleUpKind::kPairs;
         s.node.gpus = 7;
       }},
      {"fabric.units_per_pod", [](ClusterSpec& s) { s.fabric.units_per_pod = -1; }},
      {"fabric.spine_oversubscription", [](ClusterSpec& s) { s.fabric.spine_oversubscription = 0.5; }},
      {"fabric.spine_oversubscription", [](ClusterSpec& s) { s.fabric.spine_oversubscription = 2; }},
      {"fabric.planes", [](ClusterSpec& s) { s.fabric.planes = 0; }},
      {"fabric.uplinks", [](ClusterSpec& s) { s.fabric.uplinks = -1; }},
      {"thin_link.leaf",
       [](ClusterSpec& s) {
         s.thin_link = ThinLink{ThinLink::At::kLeaf, 8, 0.5};
       }},
      {"thin_link.leaf",
       [](ClusterSpec& s) {
         s.fabric.kind = FabricKind::kFatTree;  // one leaf, no spine
         s.thin_link = ThinLink{ThinLink::At::kLeaf, 0, 0.5};
       }},
      {"thin_link.node",
       [](ClusterSpec& s) {
         s.thin_link = ThinLink{ThinLink::At::kNode, 2, 0.5};
       }},
      {"thin_link.factor",
       [](ClusterSpec& s) {
         s.thin_link = ThinLink{ThinLink::At::kNode, 1, 0};
       }},
      {"thin_link.factor",
       [](ClusterSpec& s) {
         s.thin_link = ThinLink{ThinLink::At::kLeaf, 1, 0};
       }},
      {"thin_link.factor",
       [](ClusterSpec& s) {
         s.thin_link = ThinLink{ThinLink::At::kLeaf, 1, 1.5};
       }},
      {"node.nics", [](ClusterSpec& s) { s.node.nics = 0; }},
      {"node.nics", [](ClusterSpec& s) { s.node.nics = -1; }},
      {"node.nic_bandwidth", [](ClusterSpec& s) { s.node.nic_bandwidth = BytesPerSecond(0); }},
      {"node.scale_up_domain", [](ClusterSpec& s) { s.node.scale_up_domain = 12; }},
      {"node.scale_up_domain", [](ClusterSpec& s) { s.node.scale_up_domain = 0; }},
      {"node.scale_up_domain",
       [](ClusterSpec& s) {
         s.node.scale_up = ScaleUpKind::kMesh;
         s.node.scale_up_domain = 16;
       }},
      {"node.scale_up_bandwidth", [](ClusterSpec& s) { s.node.scale_up_bandwidth = BytesPerSecond(-1); }},
      {"node.scale_up_latency", [](ClusterSpec& s) { s.node.scale_up_latency = Seconds(-1); }},
      {"node.pair_bandwidth",
       [](ClusterSpec& s) {
         s.node.scale_up = ScaleUpKind::kMesh;
         s.node.pair_bandwidth = BytesPerSecond(0);
       }},
      {"node.gpus_per_pcie_switch", [](ClusterSpec& s) { s.node.gpus_per_pcie_switch = 0; }},
      {"node.numa_domains", [](ClusterSpec& s) { s.node.numa_domains = 0; }},
      {"node.pcie_bandwidth", [](ClusterSpec& s) { s.node.pcie_bandwidth = BytesPerSecond(0); }},
      {"node.pcie_latency",
       [](ClusterSpec& s) { s.node.pcie_latency = Seconds(std::numeric_limits<double>::quiet_NaN()); }},
      {"node.links", with_links({{0, 8, BytesPerSecond(1e9)}})},
      {"node.links", with_links({{3, 3, BytesPerSecond(1e9)}})},
      {"node.links", with_links({{0, 1, BytesPerSecond(0)}})},
      {"node.links", with_links({{0, 1, BytesPerSecond(1e9)}, {1, 0, BytesPerSecond(1e9)}})},
      {"node.gpus",
       [](ClusterSpec& s) {
         s.node.scale_up = ScaleUpKind::kLinks;
         s.node.gpus = s.node.scale_up_domain = 17;
       }},
      {"node.wiring", with_wiring([](PcieWiring& w) { w = PcieWiring(); })},
      {"node.wiring", with_wiring([](PcieWiring& w) { w.switch_of_gpu.pop_back(); })},
      {"node.wiring", with_wiring([](PcieWiring& w) { w.switch_of_nic[3] = 8; })},
      {"node.wiring", with_wiring([](PcieWiring& w) { w.host_of_switch[0] = -1; })},
      {"node.wiring", with_wiring([](PcieWiring& w) { w.nics_of_gpu.pop_back(); })},
      {"node.wiring", with_wiring([](PcieWiring& w) { w.nics_of_gpu[2].clear(); })},
      {"node.wiring", with_wiring([](PcieWiring& w) { w.nics_of_gpu[2] = {8}; })},
      {"node.wiring", with_wiring([](PcieWiring& w) {
         w.nics_of_gpu[2] = {3, 3};
       })},
      {"fabric.kind", [](ClusterSpec& s) { s.fabric.kind = FabricKind::kNone; }},
      {"fabric.nodes_per_unit", [](ClusterSpec& s) { s.fabric.nodes_per_unit = 0; }},
      {"fabric.oversubscription", [](ClusterSpec& s) { s.fabric.oversubscription = 0.5; }},
      {"fabric.efficiency", [](ClusterSpec& s) { s.fabric.efficiency = 0; }},
      {"fabric.efficiency", [](ClusterSpec& s) { s.fabric.efficiency = 1.01; }},
      {"fabric.switch_latency", [](ClusterSpec& s) { s.fabric.switch_latency = Seconds(-1); }},
      {"fabric.endpoint_latency", [](ClusterSpec& s) { s.fabric.endpoint_latency = Seconds(-1); }},
      {"fabric.jitter", [](ClusterSpec& s) { s.fabric.jitter = Seconds(-1); }},
      {"dead_nics",
       [](ClusterSpec& s) {
         s.dead_nics = {{2, 0}};
       }},
      {"dead_nics",
       [](ClusterSpec& s) {
         s.dead_nics = {{0, 8}};
       }},
      {"dead_nics",
       [](ClusterSpec& s) {
         s.dead_nics = {{-1, 0}};
       }},
      {"dead_nics",
       [](ClusterSpec& s) {
         s = examples::pcie_box(2);
         s.dead_nics = {{1, 0}};
       }},
      {"chosen_nics",
       [](ClusterSpec& s) {
         s.chosen_nics = {{16, 0}};
       }},
      {"chosen_nics",
       [](ClusterSpec& s) {
         s.chosen_nics = {{0, 8}};
       }},
  };
  return table;
}

TEST(ClusterCheck, ContradictionsNameTheField) {
  for (const Contradiction& contradiction : contradictions()) {
    ClusterSpec spec = examples::dgx_h100(2);
    contradiction.make(spec);
    try {
      const Cluster cluster(spec);
      ADD_FAILURE() << "accepted in spite of " << contradiction.field;
    } catch (const std::invalid_argument& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(std::string(contradiction.field) + ": ")) << error.what();
    }
  }
}

TEST(ClusterCheck, SaysWhatIsWrong) {
  ClusterSpec spec = examples::dgx_h100(2);
  spec.node.nics = 0;
  try {
    check(spec);
    FAIL() << "accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "node.nics: 2 nodes cannot reach each other without NICs");
  }
}

TEST(ClusterCheck, OneNodeOrOneDomainNeedsNoFabric) {
  for (ClusterSpec spec : {examples::dgx_h100(1), examples::nvl72(18), examples::bridged_pairs()}) {
    spec.fabric.kind = FabricKind::kNone;
    spec.node.nics = 0;
    EXPECT_NO_THROW(check(spec));
  }
  ClusterSpec two_racks = examples::nvl72(19);
  two_racks.fabric.kind = FabricKind::kNone;
  EXPECT_THROW(check(two_racks), std::invalid_argument);
}

}  // namespace
}  // namespace hw_models
