# Each header compiles on its own: one generated source file per header, which includes nothing else.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
  hw_models/*.h strategies/*.h sim/*.h executor/*.h scenarios/*.h)
set(sources "")
foreach(header IN LISTS headers)
  string(REPLACE "/" "." name ${header})
  set(source ${CMAKE_BINARY_DIR}/generated/headers/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n")
  list(APPEND sources ${source})
endforeach()
add_library(trainyard_headers OBJECT ${sources})
trainyard_compile_options(trainyard_headers)
target_compile_options(trainyard_headers PRIVATE -O0 -g0)
target_link_libraries(trainyard_headers PRIVATE trainyard_scenarios)
