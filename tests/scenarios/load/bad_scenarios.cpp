#include "tests/scenarios/load/bad_scenarios.h"

namespace scenarios {
namespace {

// clang-format off
const std::vector<BadScenario> kBadScenarios{
    {"ActivationsTooLarge",
     R"(model: llama3-8b
training: {sequence_length: 16777216, global_batch: 8}
cluster: {node: dgx-h100, nodes: 1}
plan: {tensor: 8, micro_batch: 8}
software: {implementation: {attention: unfused}, prices: {}}
)",
     R"(scenario.yaml:4:32: error: the activations would take 1.8e+19 bytes, more than can be counted
    4 | plan: {tensor: 8, micro_batch: 8}
      |                                ^ use a smaller micro_batch or sequence_length
)"},
    {"ScheduleTooLarge",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 1000000}
cluster: {node: dgx-h100, nodes: 1}
plan: {tensor: 2, pipeline: 4, data: 1}
)",
     R"(scenario.yaml:2:49: error: 1000000 microbatches x 4 pipeline stages x 1 chunks are too many to simulate
    2 | training: {sequence_length: 4096, global_batch: 1000000}
      |                                                 ^ use a larger micro_batch, more data ranks or fewer stages and chunks
)"},
    {"TypoInKey",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensr: 8}
)",
     R"(scenario.yaml:4:8: error: unknown key 'tensr'
    4 | plan: {tensr: 8}
      |        ^ did you mean 'tensor'?
)"},
    {"KeyOfAnotherSection",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8}
zero: 1
)",
     R"(scenario.yaml:5:1: error: unknown key 'zero'
    5 | zero: 1
      | ^ did you mean 'plan.zero'?
)"},
    {"KeyUnlikeAnyOther",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8, colour: red}
)",
     R"(scenario.yaml:4:19: error: unknown key 'colour'
    4 | plan: {tensor: 8, colour: red}
      |                   ^ known here: chunks, context, context_exchange, data, expert, expert_tensor, layers_per_stage, micro_batch, pipeline, prefetch, rank_order, recompute, reduce_each_microbatch, reshard_after_forward, schedule, sequence_parallel, shard, tensor, zero
)"},
    {"DuplicateKey",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8, tensor: 4}
)",
     R"(scenario.yaml:4:19: error: duplicate key 'tensor'
    4 | plan: {tensor: 8, tensor: 4}
      |                   ^ first given in line 4
)"},
    {"DuplicateSection",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8}
plan: {tensor: 4}
)",
     R"(scenario.yaml:5:1: error: duplicate key 'plan'
    5 | plan: {tensor: 4}
      | ^ first given in line 4
)"},
    {"WrongUnit",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: {base: dgx-h100, nic_bandwidth: 400 GB}}
plan: {tensor: 8}
)",
     R"(scenario.yaml:3:49: error: 'nic_bandwidth' must be a bandwidth, but '400 GB' is an amount of bytes
    3 | cluster: {node: {base: dgx-h100, nic_bandwidth: 400 GB}}
      |                                                 ^ write 400 GB/s
)"},
    {"NoUnit",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: {base: dgx-h100, scale_up_bandwidth: 900}}
plan: {tensor: 8}
)",
     R"(scenario.yaml:3:54: error: 'scale_up_bandwidth' must be a bandwidth, but '900' has no unit
    3 | cluster: {node: {base: dgx-h100, scale_up_bandwidth: 900}}
      |                                                      ^ write 900 GB/s
)"},
    {"UnitOfAnotherKind",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, gpu: {memory: 80 W}}
plan: {tensor: 8}
)",
     R"(scenario.yaml:3:41: error: 'memory' must be an amount of bytes, but '80 W' is a power
    3 | cluster: {node: dgx-h100, gpu: {memory: 80 W}}
      |                                         ^ write 80 GB
)"},
    {"BitsOrBytes",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: {base: dgx-h100, nic_bandwidth: 400 gb/s}}
plan: {tensor: 8}
)",
     R"(scenario.yaml:3:49: error: 'nic_bandwidth' must be a bandwidth, but '400 gb/s' could be bits or bytes
    3 | cluster: {node: {base: dgx-h100, nic_bandwidth: 400 gb/s}}
      |                                                 ^ write 400 GB/s or 400 Gb/s
)"},
    {"TokensWithoutUnit",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64, tokens: 15}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8}
)",
     R"(scenario.yaml:2:61: error: 'tokens' must be a number of tokens, but '15' has no unit
    2 | training: {sequence_length: 4096, global_batch: 64, tokens: 15}
      |                                                             ^ write 15B or 15T
)"},
    {"Negative",
     R"(model: llama3-8b
training: {sequence_length: -4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8}
)",
     R"(scenario.yaml:2:29: error: 'sequence_length: -4096' is out of range
    2 | training: {sequence_length: -4096, global_batch: 64}
      |                             ^ use 1 to 16777216
)"},
    {"NegativeQuantity",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64, tokens: -15T}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8}
)",
     R"(scenario.yaml:2:61: error: 'tokens' must be a number of tokens, but '-15T' is negative
    2 | training: {sequence_length: 4096, global_batch: 64, tokens: -15T}
      |                                                             ^
)"},
    {"Absurd",
     R"(model: {layers: 1000000000, hidden: 99999999999999999999, heads: 32, ffn: 1, vocabulary: 0}
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8}
)",
     R"(scenario.yaml:1:17: error: 'layers: 1000000000' is out of range
    1 | model: {layers: 1000000000, hidden: 99999999999999999999, heads: 32, ffn: 1, vocabulary: 0}
      |                 ^ use 1 to 10000
scenario.yaml:1:37: error: 'hidden: 99999999999999999999' is out of range
    1 | model: {layers: 1000000000, hidden: 99999999999999999999, heads: 32, ffn: 1, vocabulary: 0}
      |                                     ^ use 1 to 1000000
scenario.yaml:1:90: error: 'vocabulary: 0' is out of range
    1 | model: {layers: 1000000000, hidden: 99999999999999999999, heads: 32, ffn: 1, vocabulary: 0}
      |                                                                                          ^ use 1 to 100000000
)"},
    {"NotNumbers",
     R"(model: llama3-8b
training: {sequence_length: 0x1000, global_batch: .inf, input: {samples_per_s: .nan}}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8}
)",
     R"(scenario.yaml:2:29: error: 'sequence_length' must be a whole number, not '0x1000'
    2 | training: {sequence_length: 0x1000, global_batch: .inf, input: {samples_per_s: .nan}}
      |                             ^
scenario.yaml:2:51: error: 'global_batch' must be a whole number, not '.inf'
    2 | training: {sequence_length: 0x1000, global_batch: .inf, input: {samples_per_s: .nan}}
      |                                                   ^
scenario.yaml:2:80: error: 'samples_per_s' must be a number, not '.nan'
    2 | training: {sequence_length: 0x1000, global_batch: .inf, input: {samples_per_s: .nan}}
      |                                                                                ^
)"},
    {"QuotedNumber",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: "8"}
)",
     R"(scenario.yaml:4:16: error: 'tensor' must be a whole number, not '8'
    4 | plan: {tensor: "8"}
      |                ^ remove the quotes
)"},
    {"YesIsNotABoolean",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8, sequence_parallel: yes}
)",
     R"(scenario.yaml:4:38: error: 'sequence_parallel' must be true or false, not 'yes'
    4 | plan: {tensor: 8, sequence_parallel: yes}
      |                                      ^
)"},
    {"NotAMap",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: [8, 2]
)",
     R"(scenario.yaml:4:7: error: 'plan' must be a map of keys and values
    4 | plan: [8, 2]
      |       ^ write key: value
)"},
    {"DocumentIsNotAMap",
     R"(llama3-8b
)",
     R"(scenario.yaml:1:1: error: the document must be a map of keys and values
    1 | llama3-8b
      | ^ write key: value
)"},
    {"KeyWithoutValue",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan:
  tensor:
  pipeline: 2
)",
     R"(scenario.yaml:5:3: error: 'tensor' has no value
    5 |   tensor:
      |   ^
)"},
    {"Missing",
     R"(model: llama3-8b
plan: {}
)",
     R"(scenario.yaml:1:1: error: 'training' is missing
    1 | model: llama3-8b
      | ^ write training: {sequence_length: 8192, global_batch: 1024}
scenario.yaml:1:1: error: 'cluster' is missing
    1 | model: llama3-8b
      | ^ write cluster: {node: dgx-h100, nodes: 1}
)"},
    {"UnknownName",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h10}
plan: {tensor: 8}
)",
     R"(scenario.yaml:3:17: error: 'dgx-h10' is not in the catalogue
    3 | cluster: {node: dgx-h10}
      |                 ^ did you mean 'dgx-h100'?
)"},
    {"UnknownBase",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: {base: my-cluster, nics: 4}}
plan: {tensor: 8}
)",
     R"(scenario.yaml:3:24: error: 'my-cluster' is not in the catalogue
    3 | cluster: {node: {base: my-cluster, nics: 4}}
      |                        ^ `trainyard catalog nodes` lists what is known
)"},
    {"UnknownWord",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8, recompute: sellective}
)",
     R"(scenario.yaml:4:30: error: 'recompute: sellective' is not known
    4 | plan: {tensor: 8, recompute: sellective}
      |                              ^ did you mean 'selective'? (use none, selective, up-projection, full)
)"},
    {"MissingConfig",
     R"(model: models/config.json
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8}
)",
     R"(scenario.yaml:1:8: error: cannot read the model's 'models/config.json': there is no such file
    1 | model: models/config.json
      |        ^ a path is relative to the folder of the scenario
)"},
    {"TruncatedMap",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100,)",
     R"(scenario.yaml:3:10: error: this '{' is never closed
    3 | cluster: {node: dgx-h100,
      |          ^
)"},
    {"TruncatedQuote",
     R"(model: llama3-8b
training: {precision: 'bf1)",
     R"(scenario.yaml:2:27: error: the file ends inside a quoted text
    2 | training: {precision: 'bf1
      |                           ^ close the quote
)"},
    {"Tab",
     "training:\n\tsequence_length: 4096\n",
     "scenario.yaml:2:1: error: a tab in the indentation\n    2 | \tsequence_length: 4096\n      | ^ indent with spaces\n"},
    {"Indentation",
     R"(training:
  sequence_length: 4096
 global_batch: 64
)",
     R"(scenario.yaml:3:2: error: this line does not belong to the map or list above
    3 |  global_batch: 64
      |  ^ check the indentation
)"},
    {"AliasBomb",
     R"(a: &a [x, x, x]
b: &b [*a, *a, *a]
)",
     R"(scenario.yaml:1:4: error: anchors (&name) are not supported
    1 | a: &a [x, x, x]
      |    ^ write the value out
)"},
    {"Alias",
     R"(model: *m
)",
     R"(scenario.yaml:1:8: error: aliases (*name) are not supported
    1 | model: *m
      |        ^ write the value out
)"},
    {"Tag",
     R"(model: !!str llama3-8b
)",
     R"(scenario.yaml:1:8: error: tags ('tag:yaml.org,2002:str') are not supported
    1 | model: !!str llama3-8b
      |        ^ remove the tag
)"},
    {"TwoDocuments",
     R"(model: llama3-8b
---
model: llama3-8b
)",
     R"(scenario.yaml:2:1: error: a second document starts here
    2 | ---
      | ^ keep one document per file
)"},
    {"Empty",
     "",
     R"(scenario.yaml: error: the file is empty
)"},
    {"OnlyComments",
     R"(# model: llama3-8b
)",
     R"(scenario.yaml: error: the file is empty
)"},
    {"TooManyGpus",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8, pipeline: 4}
)",
     R"(scenario.yaml:4:29: error: tensor 8 x pipeline 4 needs 32 GPUs, but the cluster has 16
    4 | plan: {tensor: 8, pipeline: 4}
      |                             ^ use a smaller plan or at least 4 nodes
)"},
    {"RanksDoNotDivide",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 8}
plan: {tensor: 8, pipeline: 3}
)",
     R"(scenario.yaml:4:29: error: tensor 8 x pipeline 3 = 24 does not divide the cluster's 64 GPUs
    4 | plan: {tensor: 8, pipeline: 3}
      |                             ^ use pipeline 2 or 4
scenario.yaml:4:29: warning: the model's 32 layers do not divide over 3 stages; split as 10/11/11
    4 | plan: {tensor: 8, pipeline: 3}
      |                             ^ set 'layers_per_stage' to choose another split
)"},
    {"RanksAndGpusDiffer",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8, data: 4}
)",
     R"(scenario.yaml:4:25: error: tensor 8 x pipeline 1 x data 4 = 32 ranks, but the cluster has 16 GPUs
    4 | plan: {tensor: 8, data: 4}
      |                         ^ use data 2 or 4 nodes
)"},
    {"HeadsByTensor",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 3}
plan: {tensor: 6}
)",
     R"(scenario.yaml:4:16: error: 'tensor: 6' does not divide the model's 32 attention heads
    4 | plan: {tensor: 6}
      |                ^ use 1, 2, 4, 8 or 16
scenario.yaml:4:16: error: 'tensor: 6' does not divide the model's 14336 MLP columns
    4 | plan: {tensor: 6}
      |                ^ use 1, 2, 4, 7 or 8
)"},
    {"BatchByReplicas",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 63}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8}
)",
     R"(scenario.yaml:2:49: error: 'global_batch: 63' is not a multiple of data x micro_batch = 2 x 1 = 2
    2 | training: {sequence_length: 4096, global_batch: 63}
      |                                                 ^ use 62 or 64
)"},
    {"Precision",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64, precision: fp8}
cluster: {node: dgx-a100, nodes: 2}
plan: {tensor: 8}
)",
     R"(scenario.yaml:2:64: error: the a100-sxm-80gb has no fp8 matrix units
    2 | training: {sequence_length: 4096, global_batch: 64, precision: fp8}
      |                                                                ^ use fp32, tf32, bf16, fp16
)"},
    {"PrecisionOfOtherGpus",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64, precision: nvfp4}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8}
)",
     R"(scenario.yaml:2:64: error: the h100-sxm-80gb has no nvfp4 matrix units
    2 | training: {sequence_length: 4096, global_batch: 64, precision: nvfp4}
      |                                                                ^ use fp32, tf32, bf16, fp16, fp8
)"},
    {"PrecisionOfOtherStacks",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64, precision: fp8}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8}
software: nanotron
)",
     R"(scenario.yaml:2:64: error: nanotron does not train in fp8
    2 | training: {sequence_length: 4096, global_batch: 64, precision: fp8}
      |                                                                ^ use bf16, or give the stack implementation.low_precision
)"},
    {"NodesOrGpus",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2, gpus: 12}
plan: {tensor: 8}
)",
     R"(scenario.yaml:3:43: error: 'nodes' and 'gpus' exclude each other
    3 | cluster: {node: dgx-h100, nodes: 2, gpus: 12}
      |                                           ^ keep one
)"},
    {"GpusOfPartOfANode",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, gpus: 12}
plan: {tensor: 8}
)",
     R"(scenario.yaml:3:33: error: 'gpus: 12' is not a multiple of the node's 8 GPUs
    3 | cluster: {node: dgx-h100, gpus: 12}
      |                                 ^ use 8 or 16
)"},
    {"NoNetwork",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: cpu-box, nodes: 2}
plan: {tensor: 2}
)",
     R"(scenario.yaml:3:17: error: 2 nodes cannot reach each other without NICs
    3 | cluster: {node: cpu-box, nodes: 2}
      |                 ^
)"},
    {"RentedAndBought",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, price: {usd_per_gpu_hour: 2, usd_per_node: 3e5}}
plan: {tensor: 8}
)",
     R"(scenario.yaml:3:70: error: 'usd_per_gpu_hour' and 'usd_per_node' exclude each other
    3 | cluster: {node: dgx-h100, price: {usd_per_gpu_hour: 2, usd_per_node: 3e5}}
      |                                                                      ^ a cluster is rented or bought: keep one
)"},
    {"YearsOfARentedNode",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, price: {years: 3}}
plan: {tensor: 8}
)",
     R"(scenario.yaml:3:42: error: 'years' is for bought nodes only
    3 | cluster: {node: dgx-h100, price: {years: 3}}
      |                                          ^ give usd_per_node as well
)"},
    {"RankOrder",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 8, rank_order: tp-dp-dp}
)",
     R"(scenario.yaml:4:31: error: 'rank_order: tp-dp-dp' is not an order of dimensions
    4 | plan: {tensor: 8, rank_order: tp-dp-dp}
      |                               ^ use each of tp, cp, ep, dp, pp once, the fastest first: tp-cp-ep-dp-pp
)"},
    {"NotYet",
     R"(model: llama3-8b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: search
failures: {spares: 2}
)",
     R"(scenario.yaml:4:7: error: 'plan: search' is not supported by this version
    4 | plan: search
      |       ^ write the plan out
scenario.yaml:5:1: error: 'failures' is not supported by this version
    5 | failures: {spares: 2}
      | ^ remove it
)"},
    {"Execute",
     R"(model: tiny-cpu
training: {sequence_length: 256, global_batch: 16, precision: fp32}
cluster: {node: cpu-box, nodes: 1}
plan: {data: 2, micro_batch: 4}
software: trainyard-cpu
execute: {steps: 0, optimizer: adam, learning_rate: fast, data: [a], sed: 3}
)",
     R"(scenario.yaml:6:18: error: 'steps: 0' is out of range
    6 | execute: {steps: 0, optimizer: adam, learning_rate: fast, data: [a], sed: 3}
      |                  ^ use 1 to 1000000000
scenario.yaml:6:32: error: 'optimizer: adam' is not known
    6 | execute: {steps: 0, optimizer: adam, learning_rate: fast, data: [a], sed: 3}
      |                                ^ did you mean 'adamw'? (use sgd, adamw)
scenario.yaml:6:53: error: 'learning_rate' must be a number, not 'fast'
    6 | execute: {steps: 0, optimizer: adam, learning_rate: fast, data: [a], sed: 3}
      |                                                     ^
scenario.yaml:6:65: error: 'data' must be a word, not a list
    6 | execute: {steps: 0, optimizer: adam, learning_rate: fast, data: [a], sed: 3}
      |                                                                 ^
scenario.yaml:6:70: error: unknown key 'sed'
    6 | execute: {steps: 0, optimizer: adam, learning_rate: fast, data: [a], sed: 3}
      |                                                                      ^ did you mean 'seed'?
)"},
    {"Experts",
     R"(model: mixtral-8x7b
training: {sequence_length: 4096, global_batch: 64}
cluster: {node: dgx-h100, nodes: 2}
plan: {tensor: 2, sequence_parallel: true, expert: 3}
)",
     R"(scenario.yaml:4:52: error: 'expert: 3' does not divide the model's 8 experts
    4 | plan: {tensor: 2, sequence_parallel: true, expert: 3}
      |                                                    ^ use 1, 2, 4 or 8
)"},
    {"RoutingOfExperts",
     R"(model: mixtral-8x7b
training: {sequence_length: 4096, global_batch: 64, routing: {choices: [1, 2]}}
cluster: {node: dgx-h100, nodes: 2}
plan: {expert: 4}
)",
     R"(scenario.yaml:2:62: error: 'routing' counts the choices of 2 experts, a layer has 8
    2 | training: {sequence_length: 4096, global_batch: 64, routing: {choices: [1, 2]}}
      |                                                              ^ give one number for each expert
)"},
    {"SeveralAtOnce",
     R"(modle: llama3-8b
training: {sequence_length: 4k, global_batch: 0, tokens: 15 TB}
cluster:
  node: dgx-h100
  nodes: two
plan: {tensor: 6, micro_batch: 1.5}
)",
     R"(scenario.yaml:1:1: error: 'model' is missing
    1 | modle: llama3-8b
      | ^ a catalogue name, a path to a config.json, or a map
scenario.yaml:1:1: error: unknown key 'modle'
    1 | modle: llama3-8b
      | ^ did you mean 'model'?
scenario.yaml:2:29: error: 'sequence_length' must be a whole number, not '4k'
    2 | training: {sequence_length: 4k, global_batch: 0, tokens: 15 TB}
      |                             ^
scenario.yaml:2:47: error: 'global_batch: 0' is out of range
    2 | training: {sequence_length: 4k, global_batch: 0, tokens: 15 TB}
      |                                               ^ use 1 to 100000000
scenario.yaml:2:58: error: 'tokens' must be a number of tokens, but '15 TB' is an amount of bytes
    2 | training: {sequence_length: 4k, global_batch: 0, tokens: 15 TB}
      |                                                          ^ write 15B or 15T
scenario.yaml:5:10: error: 'nodes' must be a whole number, not 'two'
    5 |   nodes: two
      |          ^
scenario.yaml:6:32: error: 'micro_batch' must be a whole number, not '1.5'
    6 | plan: {tensor: 6, micro_batch: 1.5}
      |                                ^
)"},
};
// clang-format on

}  // namespace

const std::vector<BadScenario>& bad_scenarios() {
  static const std::vector<BadScenario> kAll = [] {
    std::vector<BadScenario> all = kBadScenarios;
    all.insert(all.end(), bad_machines().begin(), bad_machines().end());
    return all;
  }();
  return kAll;
}

}  // namespace scenarios
