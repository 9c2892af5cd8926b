#include "executor/cpu/kernels/kernel_build.h"

namespace executor::cpu::TRAINYARD_KERNEL_BUILD {

Kernels<Scalar> make_table() {
  Kernels<Scalar> table{};
  add_matmul(table);
  add_attention(table);
  add_attention_blocks(table);
  add_norm(table);
  add_activation(table);
  add_rotary(table);
  add_elementwise(table);
  add_embedding(table);
  add_cross_entropy(table);
  add_optimizer(table);
  return table;
}

}  // namespace executor::cpu::TRAINYARD_KERNEL_BUILD
