# How this project makes its targets: one place for warnings, sanitizers, labels and the rules that
# every library, test, fuzzer and benchmark follows.

set(KEROLOX_SANITIZE "" CACHE STRING "Sanitizers of everything built here: address;undefined or thread")

# The kit that runs RocketMQ itself, to compare with: beside the checkout, if anywhere.
cmake_path(SET kerolox_kit NORMALIZE ${PROJECT_SOURCE_DIR}/../shared/refcluster/refcluster)
if(NOT EXISTS ${kerolox_kit})
  set(kerolox_kit "")
endif()
set(KEROLOX_REFCLUSTER "${kerolox_kit}" CACHE FILEPATH "The program refcluster; empty: no interop tests")

add_library(kerolox_warnings INTERFACE)
target_compile_options(kerolox_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror
  -Wno-missing-field-initializers)  # designated initialisers leave out what has a default
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(kerolox_warnings INTERFACE -Wthread-safety)
endif()
if(KEROLOX_SANITIZE)
  string(REPLACE ";" "," kerolox_sanitizers "${KEROLOX_SANITIZE}")
  add_compile_options(-fsanitize=${kerolox_sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${kerolox_sanitizers})
endif()
if(KEROLOX_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "KEROLOX_BUILD_FUZZERS needs clang (preset clang or asan); "
      "${CMAKE_CXX_COMPILER} has no libFuzzer")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# kerolox_library(NAME storage SOURCES a.cc ... [LINKS kerolox_base] [PRIVATE_LINKS ...])
# makes kerolox_storage, known to users as kerolox::storage, with include/ as its public headers.
function(kerolox_library)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  set(target kerolox_${ARG_NAME})
  add_library(${target} ${ARG_SOURCES})
  add_library(kerolox::${ARG_NAME} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${ARG_NAME}
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target}
    PUBLIC ${ARG_LINKS}
    PRIVATE ${ARG_PRIVATE_LINKS} $<BUILD_INTERFACE:kerolox_warnings>)
  if(BUILD_SHARED_LIBS)
    target_compile_definitions(${target} PUBLIC KEROLOX_SHARED)
  endif()
  install(TARGETS ${target} EXPORT kerolox_targets)
  install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
endfunction()

# Remembers which sources are in some target; kerolox_check_sources_listed() compares with the disk.
function(kerolox_remember_sources)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    set_property(GLOBAL APPEND PROPERTY KEROLOX_LISTED_SOURCES ${source})
  endforeach()
endfunction()

function(kerolox_check_target target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${target} PRIVATE KEROLOX_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endfunction()

# kerolox_test(NAME record_test LABEL quick [THREADS] [ROOT] SOURCES record_test.cc [LIBRARIES ...])
# THREADS: some of its tests start threads, so the thread sanitizer runs it too.
# ROOT: needs root; tools/test.sh leaves it out without.
# LABEL is quick, crash, simulation, interop or soak. Tests of label interop run RocketMQ itself: they
# find the reference kit in the environment as KEROLOX_REFCLUSTER, and are tests only where it is.
function(kerolox_test)
  cmake_parse_arguments(ARG "THREADS;ROOT" "NAME;LABEL" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  kerolox_check_target(${ARG_NAME})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_LIBRARIES} kerolox_warnings GTest::gtest_main GTest::gmock)
  set_property(GLOBAL APPEND PROPERTY KEROLOX_TEST_TARGETS ${ARG_NAME})
  kerolox_remember_sources(${ARG_SOURCES})
  if(ARG_LABEL STREQUAL interop AND NOT KEROLOX_REFCLUSTER)
    return()
  endif()
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME})
  set(labels ${ARG_LABEL})
  if(ARG_THREADS)
    list(APPEND labels threads)
    set_property(GLOBAL APPEND PROPERTY KEROLOX_THREAD_TESTS ${ARG_NAME})
  endif()
  if(ARG_ROOT)
    list(APPEND labels root)
  endif()
  set_tests_properties(${ARG_NAME} PROPERTIES LABELS "${labels}" TIMEOUT 300)
  if(ARG_LABEL STREQUAL interop)
    set_tests_properties(${ARG_NAME} PROPERTIES ENVIRONMENT KEROLOX_REFCLUSTER=${KEROLOX_REFCLUSTER})
  endif()
endfunction()

# kerolox_fuzz(NAME record_fuzz SOURCES record_fuzz.cc [LIBRARIES ...] [CORPUS directory])
# Every source defines LLVMFuzzerTestOneInput once. With KEROLOX_BUILD_FUZZERS the test of that name
# (label fuzz) is a short run from a fixed seed. Without, the program is still built, by any
# compiler: it feeds the files that it is given, and the corpus is a quick test.
function(kerolox_fuzz)
  cmake_parse_arguments(ARG "" "NAME;CORPUS" "SOURCES;LIBRARIES" ${ARGN})
  kerolox_remember_sources(${ARG_SOURCES})
  set(corpus)
  if(ARG_CORPUS)
    set(corpus ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_CORPUS})
  endif()
  if(KEROLOX_BUILD_FUZZERS)
    add_executable(${ARG_NAME} ${ARG_SOURCES})
    target_link_options(${ARG_NAME} PRIVATE -fsanitize=fuzzer)
    file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}.found)
    # New inputs go to the first directory, in the build tree; the corpus in the sources stays as it is.
    add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME} -seed=1 -max_total_time=10 -timeout=10 -rss_limit_mb=2048
      -print_final_stats=1 ${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}.found ${corpus})
    set_tests_properties(${ARG_NAME} PROPERTIES LABELS fuzz TIMEOUT 300)
  else()
    add_executable(${ARG_NAME} ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/tests/support/fuzz_replay.cc)
    if(corpus)
      add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME} ${corpus})
      set_tests_properties(${ARG_NAME} PROPERTIES LABELS quick TIMEOUT 300)
    endif()
  endif()
  kerolox_check_target(${ARG_NAME})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_LIBRARIES} kerolox_warnings)
endfunction()

# kerolox_bench(NAME append_bench SOURCES append_bench.cc [LIBRARIES ...] [OWN_MAIN])
# The test NAME.smoke (label bench) runs all of it once and tiny, so that it keeps working;
# KEROLOX_BENCH_SMOKE is set in its environment for what is large by itself.
function(kerolox_bench)
  cmake_parse_arguments(ARG "OWN_MAIN" "NAME" "SOURCES;LIBRARIES" ${ARGN})
  kerolox_remember_sources(${ARG_SOURCES})
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  kerolox_check_target(${ARG_NAME})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_LIBRARIES} kerolox_warnings benchmark::benchmark)
  if(NOT ARG_OWN_MAIN)
    target_link_libraries(${ARG_NAME} PRIVATE benchmark::benchmark_main)
  endif()
  if(KEROLOX_BUILD_TESTS)
    add_test(NAME ${ARG_NAME}.smoke COMMAND ${ARG_NAME} --benchmark_min_time=0.001)
    set_tests_properties(${ARG_NAME}.smoke PROPERTIES LABELS bench TIMEOUT 300
      ENVIRONMENT KEROLOX_BENCH_SMOKE=1)
  endif()
endfunction()

# Tests rot silently when nothing builds them: a test, fuzzer or benchmark on disk that is in no
# target is an error.
function(kerolox_check_sources_listed)
  set(patterns)
  if(KEROLOX_BUILD_TESTS)
    list(APPEND patterns ${PROJECT_SOURCE_DIR}/tests/*_test.cc ${PROJECT_SOURCE_DIR}/tests/*_fuzz.cc)
  endif()
  if(KEROLOX_BUILD_BENCH)
    list(APPEND patterns ${PROJECT_SOURCE_DIR}/bench/*_bench.cc)
  endif()
  if(NOT patterns)
    return()
  endif()
  file(GLOB_RECURSE on_disk CONFIGURE_DEPENDS ${patterns})
  get_property(listed GLOBAL PROPERTY KEROLOX_LISTED_SOURCES)
  foreach(source IN LISTS on_disk)
    if(NOT source IN_LIST listed)
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
      message(SEND_ERROR "${source} is in no target: "
        "add it to a kerolox_test, kerolox_fuzz or kerolox_bench in the CMakeLists.txt beside it")
    endif()
  endforeach()
endfunction()

# What needs the list of all tests: the target thread_tests, all that the thread sanitizer's tree has
# to build, and the list of test programs that the count of test cases is taken from.
function(kerolox_finish_tests)
  get_property(thread_tests GLOBAL PROPERTY KEROLOX_THREAD_TESTS)
  add_custom_target(thread_tests DEPENDS ${thread_tests})
  get_property(programs GLOBAL PROPERTY KEROLOX_TEST_TARGETS)
  list(TRANSFORM programs REPLACE "(.+)" "$<TARGET_FILE:\\1>\n")
  list(JOIN programs "" programs)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/test_programs.txt CONTENT "${programs}")
endfunction()
