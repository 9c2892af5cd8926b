# Compile options of our own code, and the libraries made from the project's folders.

# Predictions must be the same on every machine: no contraction into fused multiply-adds, no fast-math.
function(trainyard_compile_options target)
  target_compile_options(${target} PRIVATE
    -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
    # g++ 12 sees overlaps in inlined string concatenations that are none (GCC bug 105651).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
  if(TRAINYARD_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

if(TRAINYARD_SANITIZE)
  string(REPLACE ";" "," sanitizers "${TRAINYARD_SANITIZE}")
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizers})
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  if(TRAINYARD_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
  endif()
endif()

# trainyard_component(FOLDER [USES libs] [PRIVATE_USES libs] [EXCLUDE files]): the library trainyard_FOLDER from
# FOLDER/**/*.cpp. Without any .cpp it is a header-only library.
function(trainyard_component folder)
  cmake_parse_arguments(arg "" "" "USES;PRIVATE_USES;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
  foreach(file IN LISTS arg_EXCLUDE)
    list(REMOVE_ITEM sources ${CMAKE_SOURCE_DIR}/${folder}/${file})
  endforeach()
  set(target trainyard_${folder})
  if(sources)
    add_library(${target} STATIC ${sources})
    trainyard_compile_options(${target})
    target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR})
    target_link_libraries(${target} PUBLIC ${arg_USES} PRIVATE ${arg_PRIVATE_USES})
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE ${CMAKE_SOURCE_DIR})
    target_link_libraries(${target} INTERFACE ${arg_USES} ${arg_PRIVATE_USES})
  endif()
endfunction()
