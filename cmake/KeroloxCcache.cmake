# ccache, where it is installed, unless the user chose a launcher. Paths below the source directory
# count as relative, so that a fresh clone in another folder finds what an earlier one compiled.
find_program(KEROLOX_CCACHE ccache)
mark_as_advanced(KEROLOX_CCACHE)
if(KEROLOX_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${KEROLOX_CCACHE})
endif()
