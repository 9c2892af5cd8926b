# cmake -DNM=nm -DLIBRARY=file -DNAME=x86_64_v3 -P private_symbols.cmake
# Code for a wider instruction set must stay out of reach: every function that the linker could take for another object's
# carries the name of the build.
execute_process(COMMAND ${NM} --defined-only ${LIBRARY} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[0-9a-f]+ [TWi] [^\n]+" visible "${symbols}")
if(NOT visible)
  message(FATAL_ERROR "no symbols in ${LIBRARY}")
endif()
foreach(symbol IN LISTS visible)
  if(NOT symbol MATCHES "${NAME}")
    message(SEND_ERROR "another object could be linked to code for ${NAME}: ${symbol}")
  endif()
endforeach()
