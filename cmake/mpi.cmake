# The optional communicator over MPI (docs/communicator.md).
# trainyard_use_mpi(TARGET): keeps its files in TARGET where TRAINYARD_MPI allows and there is an MPI, else takes them
# out; says which it is.
set(TRAINYARD_MPI AUTO CACHE STRING "Communicator over MPI: AUTO (where MPI is found), ON or OFF")
set_property(CACHE TRAINYARD_MPI PROPERTY STRINGS AUTO ON OFF)

function(trainyard_use_mpi target)
  set(MPI_CXX_SKIP_MPICXX ON)  # the C interface only
  if(TRAINYARD_MPI STREQUAL AUTO)
    find_package(MPI QUIET COMPONENTS CXX)
  elseif(TRAINYARD_MPI)
    find_package(MPI REQUIRED COMPONENTS CXX)
  endif()
  if(TRAINYARD_MPI AND MPI_CXX_FOUND)
    message(STATUS "Communicator mpi: MPI ${MPI_CXX_VERSION}, ${MPIEXEC_EXECUTABLE}")
    target_compile_definitions(${target} PRIVATE TRAINYARD_MPI)
    target_link_libraries(${target} PRIVATE MPI::MPI_CXX)
    set(TRAINYARD_MPIEXEC ${MPIEXEC_EXECUTABLE} PARENT_SCOPE)
    return()
  endif()
  if(TRAINYARD_MPI)
    message(STATUS "Communicator mpi: left out, no MPI found (Debian: libopenmpi-dev openmpi-bin)")
  else()
    message(STATUS "Communicator mpi: left out, TRAINYARD_MPI is OFF")
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources EXCLUDE REGEX "/communicator/mpi_")
  set_target_properties(${target} PROPERTIES SOURCES "${sources}")
endfunction()
