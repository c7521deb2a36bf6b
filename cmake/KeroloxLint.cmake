# The target `lint`: clang-tidy over the product's sources, each again only when it, a header or
# .clang-tidy has changed. Tests and benchmarks are not linted: their macros draw noise.
function(kerolox_lint)
  find_program(KEROLOX_CLANG_TIDY clang-tidy-19 REQUIRED)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
    ${PROJECT_SOURCE_DIR}/storage/*.cc ${PROJECT_SOURCE_DIR}/tools/*.cc)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/storage/*.h ${PROJECT_SOURCE_DIR}/tools/*.h)
  foreach(source IN LISTS sources)
    string(MAKE_C_IDENTIFIER ${source} stamp)
    set(stamp ${PROJECT_BINARY_DIR}/lint/${stamp}.ok)
    add_custom_command(OUTPUT ${stamp}
      COMMAND ${KEROLOX_CLANG_TIDY} -p ${PROJECT_BINARY_DIR} --quiet ${PROJECT_SOURCE_DIR}/${source}
      COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
      DEPENDS ${PROJECT_SOURCE_DIR}/${source} ${headers} ${PROJECT_SOURCE_DIR}/.clang-tidy
      COMMENT "Linting ${source}" VERBATIM)
    list(APPEND stamps ${stamp})
  endforeach()
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lint)
  add_custom_target(lint DEPENDS ${stamps})
endfunction()
kerolox_lint()
