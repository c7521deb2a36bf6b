# The gates as tests (label gate), so that one summary of CTest says it all. tools/test.sh --all has
# built their trees and targets before; a gate whose build failed builds again and shows why.
include(cmake/KeroloxLint.cmake)

# kerolox_gate(NAME command ...): alone on the machine, since most of them use all cores.
function(kerolox_gate name)
  add_test(NAME gate.${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(gate.${name} PROPERTIES LABELS gate TIMEOUT 1500 RUN_SERIAL TRUE)
endfunction()

kerolox_gate(headers ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target headers -- --quiet)
kerolox_gate(lint ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target lint -- --quiet -k 0)
kerolox_gate(format ${PROJECT_SOURCE_DIR}/tools/check_format.sh)
kerolox_gate(test_count ${PROJECT_SOURCE_DIR}/tests/test_count.sh ${PROJECT_BINARY_DIR})
kerolox_gate(shared_library ${PROJECT_SOURCE_DIR}/tests/shared_library_test.sh ${CMAKE_COMMAND}
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/build/shared)
kerolox_gate(asan ${PROJECT_SOURCE_DIR}/tools/gate_tree.sh asan "^(quick|crash)$")
kerolox_gate(fuzz ${PROJECT_SOURCE_DIR}/tools/gate_tree.sh asan "^fuzz$")
kerolox_gate(tsan ${PROJECT_SOURCE_DIR}/tools/gate_tree.sh tsan "^threads$" thread_tests)
