# What `cmake --install` puts where, beside the programs and plugins that install themselves:
#   include/stc              headers of the SDK and of its conformance suites
#   lib/cmake/stc-sdk        the package stc-sdk
#   lib/stc                  LibTorch's libraries that libstc_host.so needs, next to it (STC_BUNDLE_LIBTORCH)
#   share/stc/template       the starter of a plugin
# No installed text holds a path of the machine that built it.
include(CMakePackageConfigHelpers)
option(STC_BUNDLE_LIBTORCH "Install the LibTorch libraries that the host needs" ON)

file(STRINGS "${PROJECT_SOURCE_DIR}/sdk/include/stc/abi/core.h" _abi REGEX "define STC_ABI_(MAJOR|MINOR) ")
list(TRANSFORM _abi REPLACE "^.* ([0-9]+).*$" "\\1")
list(JOIN _abi "." STC_SDK_ABI)

set(STC_SDK_CMAKE_DIR lib/cmake/stc-sdk)
set(STC_PLUGIN_DIR lib/stc/plugins)
set(STC_HOST_PROGRAM bin/stc-host)
install(TARGETS stc_sdk stc_sdk_testing EXPORT stc-sdk)
install(EXPORT stc-sdk FILE stc-sdkTargets.cmake NAMESPACE stc:: DESTINATION ${STC_SDK_CMAKE_DIR})
install(DIRECTORY sdk/include/stc sdk/testing/include/stc "${PROJECT_BINARY_DIR}/include/stc"
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
configure_package_config_file(sdk/cmake/stc-sdkConfig.cmake.in "${PROJECT_BINARY_DIR}/cmake/stc-sdkConfig.cmake"
  INSTALL_DESTINATION ${STC_SDK_CMAKE_DIR} PATH_VARS STC_SDK_CMAKE_DIR STC_PLUGIN_DIR STC_HOST_PROGRAM)
# While the ABI is 0.N a plugin runs on hosts of the same N only.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/cmake/stc-sdkConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/cmake/stc-sdkConfig.cmake" "${PROJECT_BINARY_DIR}/cmake/stc-sdkConfigVersion.cmake"
  tools/cmake/StcAddPlugin.cmake tools/cmake/stc_plugin.version tools/cmake/FindStcLibTorch.cmake
  DESTINATION ${STC_SDK_CMAKE_DIR})
install(DIRECTORY sdk/template DESTINATION share/stc)

if(STC_BUNDLE_LIBTORCH)
  # Whatever libtorch_cpu needs and the system does not have: libc10, the package's own libgomp, and with a
  # CUDA build the libraries of its packages. Debian's libgomp must not be taken in place of the package's.
  install(CODE "set(_torch \"${STC_LIBTORCH_DIR}/lib\")")
  install(CODE [[
    file(GET_RUNTIME_DEPENDENCIES LIBRARIES "${_torch}/libtorch_cpu.so" "${_torch}/libc10.so"
      RESOLVED_DEPENDENCIES_VAR _needed UNRESOLVED_DEPENDENCIES_VAR _missing DIRECTORIES "${_torch}"
      POST_EXCLUDE_REGEXES "^/lib/" "^/lib64/" "^/usr/lib/" "^/usr/lib64/")
    if(_missing)
      message(FATAL_ERROR "LibTorch in ${_torch} needs ${_missing}, which were not found")
    endif()
    list(APPEND _needed "${_torch}/libtorch_cpu.so" "${_torch}/libc10.so")
    list(REMOVE_DUPLICATES _needed)
    file(INSTALL ${_needed} DESTINATION "${CMAKE_INSTALL_PREFIX}/lib/stc" FOLLOW_SYMLINK_CHAIN)
  ]])
  # LibTorch's licence goes with it, where the package has one.
  file(GLOB _licences "${STC_LIBTORCH_DIR}/../torch-*.dist-info/licenses/LICENSE" "${STC_LIBTORCH_DIR}/LICENSE")
  if(_licences)
    install(FILES ${_licences} DESTINATION share/doc/stc/libtorch)
  endif()
elseif(TARGET stc_host)
  set_property(TARGET stc_host PROPERTY INSTALL_RPATH "$ORIGIN;${STC_LIBTORCH_DIR}/lib")
endif()
