# trainyard_kernel_build(NAME SCALAR [compile options]): the library trainyard_kernels_NAME, the kernels of the CPU
# backend compiled once more for another instruction set or number format (executor/cpu/kernels/kernel_build.h).
# Only here may products and sums be contracted: predictions stay the same on every machine.
function(trainyard_kernel_build name scalar)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/executor/cpu/kernels/*.cpp)
  set(target trainyard_kernels_${name})
  add_library(${target} STATIC ${sources})
  trainyard_compile_options(${target})
  target_compile_definitions(${target} PRIVATE TRAINYARD_KERNEL_BUILD=${name} TRAINYARD_KERNEL_SCALAR=${scalar})
  # -Wno-psabi: how vectors are passed depends on the instruction set; no call is left that could pass one.
  # Unoptimised, inline functions of the standard library would become symbols that another build may be linked to.
  target_compile_options(${target} PRIVATE
    -ffp-contract=fast -fno-math-errno -Wno-psabi $<$<CONFIG:Debug>:-O2> ${ARGN})
  target_link_libraries(${target} PRIVATE trainyard_strategies Eigen3::Eigen)
endfunction()

# The builds of this machine's architecture. An object of a later library must find the inline functions it shares with
# an earlier one there: the linker takes them in this order.
function(trainyard_kernel_builds result)
  trainyard_kernel_build(baseline float)
  set(builds trainyard_kernels_baseline)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -march=x86-64-v3)
  check_cxx_source_compiles("int main() { return __builtin_cpu_supports(\"avx2\"); }" TRAINYARD_X86_64_V3)
  if(TRAINYARD_X86_64_V3)
    trainyard_kernel_build(x86_64_v3 float -march=x86-64-v3)
    list(APPEND builds trainyard_kernels_x86_64_v3)
  endif()
  set(${result} ${builds} PARENT_SCOPE)
endfunction()
