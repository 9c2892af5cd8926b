#include "tests/scenarios/load/bad_scenarios.h"

namespace scenarios {
namespace {

// clang-format off
const std::vector<BadScenario> kBadMachines{
    {"SlowRankOutsideTheCluster",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8}
faults: {slow_gpu: {rank: 16, factor: 0.8}}
)",
     R"(scenario.yaml:5:27: error: there is no rank 16 among 16 ranks
    5 | faults: {slow_gpu: {rank: 16, factor: 0.8}}
      |                           ^ use 0 to 15
)"},
    {"TwoSlowGpusOneOutside",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8}
faults: {slow_gpu: [{rank: 15, factor: 0.8}, {rank: 16, factor: 0.8}]}
)",
     R"(scenario.yaml:5:21: warning: rank 15 computes at 0.8 of the others' speed
    5 | faults: {slow_gpu: [{rank: 15, factor: 0.8}, {rank: 16, factor: 0.8}]}
      |                     ^ remove 'faults' to see what a sound cluster does
scenario.yaml:5:53: error: there is no rank 16 among 16 ranks
    5 | faults: {slow_gpu: [{rank: 15, factor: 0.8}, {rank: 16, factor: 0.8}]}
      |                                                     ^ use 0 to 15
)"},
    {"ARankSlowTwice",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8}
faults: {slow_gpu: [{rank: 1, factor: 1}, {rank: 1, factor: 0.8}]}
)",
     R"(scenario.yaml:5:50: error: rank 1 is slow twice
    5 | faults: {slow_gpu: [{rank: 1, factor: 1}, {rank: 1, factor: 0.8}]}
      |                                                  ^ keep one
)"},
    {"DeadNicsThatAreNotThere",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8}
faults: {dead_nic: [{node: 2, nic: 0}, {node: 1, nic: 8}, {node: 1, nic: 3}, {node: 1, nic: 3}]}
)",
     R"(scenario.yaml:5:28: error: there is no node 2 among 2 nodes
    5 | faults: {dead_nic: [{node: 2, nic: 0}, {node: 1, nic: 8}, {node: 1, nic: 3}, {node: 1, nic: 3}]}
      |                            ^ use 0 to 1
scenario.yaml:5:55: error: there is no NIC 8 among the 8 of a node
    5 | faults: {dead_nic: [{node: 2, nic: 0}, {node: 1, nic: 8}, {node: 1, nic: 3}, {node: 1, nic: 3}]}
      |                                                       ^ use 0 to 7
scenario.yaml:5:93: error: NIC 3 of node 1 is dead twice
    5 | faults: {dead_nic: [{node: 2, nic: 0}, {node: 1, nic: 8}, {node: 1, nic: 3}, {node: 1, nic: 3}]}
      |                                                                                             ^ keep one
)"},
    {"TheOnlyNicIsDead",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: pcie-rtx4090-8, nodes: 2}
plan: {tensor: 8}
faults: {dead_nic: {node: 1, nic: 0}}
)",
     R"(scenario.yaml:5:35: error: node 1 has no living NIC left to reach the other nodes
    5 | faults: {dead_nic: {node: 1, nic: 0}}
      |                                   ^ leave one alive, or take the node out of the cluster
)"},
    {"DeadNicWithoutNode",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8}
faults: {dead_nic: {nic: 0}}
)",
     R"(scenario.yaml:5:20: error: 'faults.dead_nic.node' is missing
    5 | faults: {dead_nic: {nic: 0}}
      |                    ^ which node has the dead NIC, e.g. 3
)"},
    {"PlacementThatIsNone",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8}
placement: rails
)",
     R"(scenario.yaml:5:12: error: 'placement: rails' is neither a rule nor a file
    5 | placement: rails
      |            ^ use packed, rail or the path of a table rank,host,device, relative to the scenario's folder
)"},
    {"PlacementByMap",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8}
placement: {rail: true}
)",
     R"(scenario.yaml:5:12: error: 'placement' must be a word or a path
    5 | placement: {rail: true}
      |            ^ use packed, rail or the path of a table rank,host,device, relative to the scenario's folder
)"},
    {"SlowGpuWithoutFactor",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8}
faults: {slow_gpu: {rank: 5}}
)",
     R"(scenario.yaml:5:20: error: 'faults.slow_gpu.factor' is missing
    5 | faults: {slow_gpu: {rank: 5}}
      |                    ^ its speed over that of the others, e.g. 0.8
)"},
    {"SlowGpuIsNoFaster",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8}
faults: {slow_gpu: {rank: 5, factor: 1.5}}
)",
     R"(scenario.yaml:5:38: error: 'factor: 1.5' is out of range
    5 | faults: {slow_gpu: {rank: 5, factor: 1.5}}
      |                                      ^ use 0.001 to 1
)"},
    {"ListBesideNode",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, gpus: 16, nodes: [{node: dgx-h200, count: 2}]}
plan: {tensor: 8}
)",
     R"(scenario.yaml:3:17: error: 'node' has no meaning beside a list of nodes
    3 | cluster: {node: dgx-h100, gpus: 16, nodes: [{node: dgx-h200, count: 2}]}
      |                 ^ write it in the list: nodes: [{node: ..., count: 4}]
scenario.yaml:3:33: error: 'gpus' has no meaning beside a list of nodes
    3 | cluster: {node: dgx-h100, gpus: 16, nodes: [{node: dgx-h200, count: 2}]}
      |                                 ^ change the counts in the list
)"},
    {"ListWithBadEntries",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {nodes: [{node: dgx-h1000, count: 2}, {node: dgx-h100}, {count: 0, nodes: 3}]}
plan: {tensor: 8}
)",
     R"(scenario.yaml:3:26: error: 'dgx-h1000' is not in the catalogue
    3 | cluster: {nodes: [{node: dgx-h1000, count: 2}, {node: dgx-h100}, {count: 0, nodes: 3}]}
      |                          ^ did you mean 'dgx-h100'?
scenario.yaml:3:48: error: 'cluster.nodes[1].count' is missing
    3 | cluster: {nodes: [{node: dgx-h1000, count: 2}, {node: dgx-h100}, {count: 0, nodes: 3}]}
      |                                                ^ how many of these nodes, e.g. 4
scenario.yaml:3:66: error: 'cluster.nodes[2].node' is missing
    3 | cluster: {nodes: [{node: dgx-h1000, count: 2}, {node: dgx-h100}, {count: 0, nodes: 3}]}
      |                                                                  ^ name a node of the catalogue, e.g. dgx-h100
scenario.yaml:3:74: error: 'count: 0' is out of range
    3 | cluster: {nodes: [{node: dgx-h1000, count: 2}, {node: dgx-h100}, {count: 0, nodes: 3}]}
      |                                                                          ^ use 1 to 200000
scenario.yaml:3:77: error: unknown key 'nodes'
    3 | cluster: {nodes: [{node: dgx-h1000, count: 2}, {node: dgx-h100}, {count: 0, nodes: 3}]}
      |                                                                             ^ did you mean 'node'?
)"},
    {"EmptyList",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {nodes: []}
plan: {tensor: 8}
)",
     R"(scenario.yaml:3:18: error: 'nodes' lists 0 kinds of nodes
    3 | cluster: {nodes: []}
      |                  ^ write 1 to 64: nodes: [{node: dgx-h100, count: 4}]
)"},
    {"NodesOfTwoVendors",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {nodes: [{node: dgx-h100, count: 2}, {node: mi300x-platform, count: 2}], fabric: infiniband-ndr}
plan: {tensor: 8}
)",
     R"(scenario.yaml:3:18: error: no collective library joins h100-sxm-80gb (NVIDIA) and mi300x (AMD)
    3 | cluster: {nodes: [{node: dgx-h100, count: 2}, {node: mi300x-platform, count: 2}], fabric: infiniband-ndr}
      |                  ^ give every vendor's GPUs a job of their own
)"},
    {"NodesWithoutACommonFabric",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {nodes: [{node: dgx-a100, count: 2}, {node: dgx-h100, count: 2}]}
plan: {tensor: 8}
)",
     R"(scenario.yaml:3:18: error: the nodes differ in their usual network: dgx-a100 usually has infiniband-hdr, dgx-h100 infiniband-ndr
    3 | cluster: {nodes: [{node: dgx-a100, count: 2}, {node: dgx-h100, count: 2}]}
      |                  ^ name the one that joins them: fabric: infiniband-hdr
)"},
    {"ChangedFabricOfNoBase",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {nodes: [{node: dgx-a100, count: 2}, {node: dgx-h100, count: 2}], fabric: {oversubscription: 2}}
plan: {tensor: 8}
)",
     R"(scenario.yaml:3:84: error: the nodes differ in their usual network: dgx-a100 usually has infiniband-hdr, dgx-h100 infiniband-ndr
    3 | cluster: {nodes: [{node: dgx-a100, count: 2}, {node: dgx-h100, count: 2}], fabric: {oversubscription: 2}}
      |                                                                                    ^ name the one that joins them: fabric: {base: infiniband-hdr, ...}
)"},
    {"RailOnUnequalNodes",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {nodes: [{node: dgx-h100, count: 1}, {node: {base: dgx-h100, gpus: 4, nics: 4, scale_up_domain: 4}, count: 2}]}
plan: {tensor: 8}
placement: rail
)",
     R"(scenario.yaml:5:12: error: 'placement: rail' needs nodes with equally many GPUs
    5 | placement: rail
      |            ^ use packed: consecutive ranks on consecutive GPUs
)"},
    {"PrecisionOfTheSecondKind",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64, precision: fp8}
cluster: {nodes: [{node: dgx-h100, count: 2}, {node: dgx-a100, count: 2}], fabric: infiniband-hdr}
plan: {tensor: 8}
)",
     R"(scenario.yaml:2:64: error: the a100-sxm-80gb has no fp8 matrix units
    2 | training: {sequence_length: 4096, global_batch: 64, precision: fp8}
      |                                                                ^ use fp32, tf32, bf16, fp16
)"},
    {"NoDegreeAloneMendsIt",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 33}
plan: {tensor: 16, pipeline: 16}
)",
     R"(scenario.yaml:4:16: error: tensor 16 x pipeline 16 = 256 does not divide the cluster's 264 GPUs
    4 | plan: {tensor: 16, pipeline: 16}
      |                ^ use tensor 8 x pipeline 11
)"},
};
// clang-format on

}  // namespace

const std::vector<BadScenario>& bad_machines() { return kBadMachines; }

}  // namespace scenarios
