#include "executor/cpu/kernels.h"

#include <cmath>

namespace executor::cpu {

// One table per build of executor/cpu/kernels (CMakeLists.txt).
namespace baseline {
Kernels<float> make_table();
}
#ifdef TRAINYARD_X86_64_V3
namespace x86_64_v3 {
Kernels<float> make_table();
}
#endif

namespace {

bool always() { return true; }

#ifdef TRAINYARD_X86_64_V3
/// The level's other members (F16C, LZCNT, MOVBE) come with AVX2, BMI and FMA on every processor made; compilers
/// before g++ 12 do not know the level's name here.
bool has_x86_64_v3() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
         __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0;
}
#endif

struct Build {
  std::string_view name;
  bool (*runs_here)();
  Kernels<float> (*make_table)();
};

/// Slowest first.
constexpr Build kBuilds[] = {
    {"baseline", always, baseline::make_table},
#ifdef TRAINYARD_X86_64_V3
    {"x86-64-v3", has_x86_64_v3, x86_64_v3::make_table},
#endif
};

std::vector<Kernels<float>> make_runnable() {
  std::vector<Kernels<float>> tables;
  for (const Build& build : kBuilds) {
    if (!build.runs_here()) continue;
    tables.push_back(build.make_table());
    tables.back().name = build.name;
  }
  return tables;
}

}  // namespace

const std::vector<Kernels<float>>& runnable_kernels() {
  static const std::vector<Kernels<float>> tables = make_runnable();
  return tables;
}

const Kernels<float>& kernels() { return runnable_kernels().back(); }

template <class T>
void rotary_table(std::int64_t sequence, std::int64_t head_dim, double base, T* cosines, T* sines) {
  const std::int64_t half = head_dim / 2;
  for (std::int64_t position = 0; position < sequence; ++position) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double exponent = -2 * static_cast<double>(i) / static_cast<double>(head_dim);
      const double angle = static_cast<double>(position) * std::pow(base, exponent);
      cosines[position * half + i] = static_cast<T>(std::cos(angle));
      sines[position * half + i] = static_cast<T>(std::sin(angle));
    }
  }
}

template void rotary_table(std::int64_t, std::int64_t, double, float*, float*);
template void rotary_table(std::int64_t, std::int64_t, double, double*, double*);

}  // namespace executor::cpu
