# How this project makes its targets: one place for warnings and sanitizers.

set(KEROLOX_SANITIZE "" CACHE STRING "address;undefined or thread")

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

# kerolox_test(NAME record_test LABEL quick SOURCES record_test.cc [LIBRARIES ...])
function(kerolox_test)
  cmake_parse_arguments(ARG "" "NAME;LABEL" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_include_directories(${ARG_NAME} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_LIBRARIES} kerolox_warnings GTest::gtest_main GTest::gmock)
  target_compile_definitions(${ARG_NAME} PRIVATE KEROLOX_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME})
  set_tests_properties(${ARG_NAME} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT 300)
  set_property(GLOBAL APPEND PROPERTY KEROLOX_TEST_SOURCES ${ARG_SOURCES})
endfunction()
