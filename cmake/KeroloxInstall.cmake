# What `cmake --install` leaves: the libraries, their public headers, a CMake package and kerolox.pc.
include(CMakePackageConfigHelpers)

set(kerolox_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kerolox)
install(EXPORT kerolox_targets NAMESPACE kerolox:: DESTINATION ${kerolox_cmake_dir}
  FILE kerolox-targets.cmake)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/kerolox-config.cmake.in
  ${PROJECT_BINARY_DIR}/kerolox-config.cmake INSTALL_DESTINATION ${kerolox_cmake_dir})
# Before 1.0 every minor version may break its users.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kerolox-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kerolox-config.cmake
  ${PROJECT_BINARY_DIR}/kerolox-config-version.cmake DESTINATION ${kerolox_cmake_dir})

# A shared library has libdeflate and xxHash linked into it or behind it. A static one leaves them to
# its user, whether or not pkg-config is asked with --static, so there they are plain requirements.
if(BUILD_SHARED_LIBS)
  set(kerolox_pc_requires "Requires.private: libdeflate, libxxhash")
  set(kerolox_pc_cflags " -DKEROLOX_SHARED")
else()
  set(kerolox_pc_requires "Requires: libdeflate, libxxhash")
  set(kerolox_pc_cflags "")
endif()
# The way back from kerolox.pc to the prefix: the installed tree may be moved as a whole.
file(RELATIVE_PATH kerolox_pc_prefix /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(${CMAKE_CURRENT_LIST_DIR}/kerolox.pc.in ${PROJECT_BINARY_DIR}/kerolox.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/kerolox.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
