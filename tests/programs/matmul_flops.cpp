#include "tests/programs/matmul_flops.h"

#include <variant>

namespace tests {

double matmul_flops(const strategies::Program& program) {
  double flops = 0;
  for (const std::uint32_t role : program.role_of_rank) {
    for (const strategies::Action& action : program.roles[role].schedule) {
      for (const strategies::Operation& operation : program.roles[role].blocks[action.block].operations) {
        const auto* compute = std::get_if<strategies::Compute>(&operation.work);
        const auto* matmul = compute != nullptr ? std::get_if<hw_models::Matmul>(&compute->kernel) : nullptr;
        if (matmul == nullptr) continue;
        flops += 2.0 * static_cast<double>(matmul->m * matmul->n * matmul->k * matmul->batch);
      }
    }
  }
  return flops;
}

}  // namespace tests
