# stc_add_test(<name> SOURCES <files> [LIBS <libraries>] [LABELS <labels>] [TIMEOUT <seconds>])
#
# A Boost.Test executable <name> and one CTest entry. The main function comes from
# tests/support/test_main.cpp. Labels: unit, integration, reference, fault, slow, gpu.
function(stc_add_test name)
  if(NOT STC_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE stc_test_support ${ARG_LIBS} stc_options)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
    ENVIRONMENT "STC_TEST_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};STC_TEST_PLUGINS=${STC_PLUGIN_OUTPUT_DIRECTORY};STC_TEST_SOURCE=${PROJECT_SOURCE_DIR}")
endfunction()
