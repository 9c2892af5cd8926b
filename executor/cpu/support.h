// What the CPU backend cannot run, said before anything starts.
#pragma once

#include <optional>
#include <string>

#include "strategies/model.h"
#include "strategies/plan.h"
#include "strategies/program/program.h"

namespace executor::cpu {

/// Why, and what to do instead.
struct Refusal {
  std::string problem, advice;
};

/// The first operation without a kernel or a collective of the backend.
std::optional<Refusal> refuse_program(const strategies::Program& program);

/// Parts of a model that the operations do not carry out in full, so that training would compute something else.
std::optional<Refusal> refuse_model(const strategies::ModelSpec& model, const strategies::PlanSpec& plan);

}  // namespace executor::cpu
