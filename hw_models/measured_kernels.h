// Kernel times measured on a machine (`trainyard calibrate`): kernel_cost uses them in the place of the GPU's model.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hw_models/kernel.h"
#include "hw_models/measured_grid.h"
#include "hw_models/units.h"

namespace hw_models {

/// What is measured as one kind of kernel, and the sizes that decide its time.
struct KernelKind {
  std::string_view name;                 ///< "matmul-nt": C = A B^T; key of the hardware file
  std::array<std::string_view, 3> axes;  ///< "" = none
  std::size_t dimensions() const;
};
/// All of them; in order of their names.
std::span<const KernelKind> kernel_kinds();
const KernelKind* find_kernel_kind(std::string_view name);

/// A kernel among those of its kind: `repeats` times what the grid says for `sizes`.
struct KernelPoint {
  std::string_view kind;
  std::vector<double> sizes;
  double repeats = 1;  ///< products of a batch; heads of all sequences
};
/// nullopt for kernels without a kind (routing, casts, Measured).
std::optional<KernelPoint> kernel_point(const Kernel& kernel);

/// One kind. `together`: while every other device of the node runs the same; they share caches, memory and clock.
struct MeasuredKernel {
  std::string kind;
  MeasuredGrid alone, together;
  bool operator==(const MeasuredKernel&) const = default;
};

struct MeasuredKernels {
  int devices = 1;                    ///< at work in `together`
  Seconds operation{};                ///< what an operation costs around its kernel: interpreter and binding
  std::vector<MeasuredKernel> kinds;  ///< in order of their names

  const MeasuredKernel* find(std::string_view kind) const;
  bool operator==(const MeasuredKernels&) const = default;
};

/// `busy`: share of the node's other devices that run at once, 0 to 1; between the two grids the time is linear in it.
/// nullopt where the kernel was not measured.
std::optional<Seconds> measured_time(const Kernel& kernel, const MeasuredKernels& measured, double busy);

}  // namespace hw_models
