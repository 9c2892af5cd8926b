# The fluid network against SimGrid (https://simgrid.org, Debian: libsimgrid-dev), an independent flow simulator.
# Without SimGrid the test is still there and says that it is skipped.
find_path(SIMGRID_INCLUDE simgrid/s4u.hpp)
find_library(SIMGRID_LIBRARY simgrid)
mark_as_advanced(SIMGRID_INCLUDE SIMGRID_LIBRARY)
trainyard_tests(simgrid trainyard_sim)
target_sources(simgrid_tests PRIVATE sim/fluid_cases.cpp)
if(SIMGRID_INCLUDE AND SIMGRID_LIBRARY)
  target_compile_definitions(simgrid_tests PRIVATE TRAINYARD_SIMGRID)
  target_include_directories(simgrid_tests SYSTEM PRIVATE ${SIMGRID_INCLUDE})
  target_link_libraries(simgrid_tests PRIVATE ${SIMGRID_LIBRARY})
else()
  message(STATUS "SimGrid not found: the cross-check of the fluid network will be skipped")
endif()
