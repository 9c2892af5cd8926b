#include <array>

#include "scenarios/cli/verb.h"
#include "scenarios/cli/verb_accuracy.h"
#include "scenarios/cli/verb_calibrate.h"
#include "scenarios/cli/verb_catalog.h"
#include "scenarios/cli/verb_collectives.h"
#include "scenarios/cli/verb_execute.h"
#include "scenarios/cli/verb_memory.h"
#include "scenarios/cli/verb_simulate.h"
#include "scenarios/cli/verb_topology.h"
#include "scenarios/cli/verb_validate.h"

namespace scenarios {
namespace {

constexpr std::array<Verb, 9> kVerbs{{
    {"simulate", "predict the step and the whole run of the scenario's plan", run_simulate},
    {"memory", "per-stage memory, fits or not", run_memory},
    {"execute", "train the plan for real, on processes of this machine", run_execute},
    {"calibrate", "measure this machine into a hardware file", run_calibrate},
    {"validate", "predict, run for real and compare, operation by operation", run_validate},
    {"accuracy", "predictions against published measured runs", run_accuracy},
    {"collectives", "NCCL's collectives on a cluster, beside measured ones", run_collectives},
    {"topology", "a server as NCCL or nvidia-smi describes it; where a plan's groups lie", run_topology},
    {"catalog", "what is known: GPUs, nodes, fabrics, software, models, schedules", run_catalog},
}};

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

}  // namespace scenarios
