# The contract of communicators, on processes that mpirun starts.
if(TRAINYARD_MPIEXEC)
  # A test may run as root, with more ranks than cores, and in a container that forbids reading another process's memory.
  # MPI keeps some memory to the end.
  set(mpi_environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl_vader_single_copy_mechanism=none ASAN_OPTIONS=detect_leaks=0)
  add_test(NAME executor.mpi.Contract
    COMMAND ${TRAINYARD_MPIEXEC} -n 8 $<TARGET_FILE:executor_tests> --gtest_filter=*Contract* --gtest_brief=1)
  set_tests_properties(executor.mpi.Contract PROPERTIES ENVIRONMENT "${mpi_environment}"
    PROCESSORS 2 TIMEOUT 300 FAIL_REGULAR_EXPRESSION "PASSED  . 0 tests")
  string(JOIN " " mpirun env ${mpi_environment} ${TRAINYARD_MPIEXEC})
  target_compile_definitions(executor_tests PRIVATE TRAINYARD_MPIRUN="${mpirun}")
else()
  add_test(NAME executor.mpi.Contract COMMAND ${CMAKE_COMMAND} -E echo "skipped: built without MPI")
  set_tests_properties(executor.mpi.Contract PROPERTIES SKIP_REGULAR_EXPRESSION skipped)
endif()
