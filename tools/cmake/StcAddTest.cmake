# stc_add_test(<name> SOURCES <files> [LIBS <libraries>] [LABELS <labels>] [TIMEOUT <seconds>] [PLAIN_LOG])
#
# A Boost.Test executable <name> and one CTest entry. The main function comes from
# tests/support/test_main.cpp. Labels: unit, integration, reference, fault, slow, gpu.
function(stc_add_test name)
  if(NOT STC_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "PLAIN_LOG" "TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE stc_test_support ${ARG_LIBS} stc_options)
  if(STC_SANITIZE)
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tools/sanitize/defaults.cpp")
  endif()
  stc_add_test_entry(${name} COMMAND ${name} LABELS ${ARG_LABELS} TIMEOUT ${ARG_TIMEOUT})
  if(ARG_PLAIN_LOG)
    # The test forks children that leave through exit(), which Boost.Test's JUnit log does not survive there: no such
    # log, and the executable counts as one case.
    set_tests_properties(${name} PROPERTIES ENVIRONMENT
      "STC_TEST_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};STC_TEST_PLUGINS=${STC_PLUGIN_OUTPUT_DIRECTORY};STC_TEST_SOURCE=${PROJECT_SOURCE_DIR};GOMP_SPINCOUNT=1000")
  endif()
endfunction()

# stc_add_test_entry(<name> COMMAND <command of a Boost.Test executable> [LABELS <labels>] [TIMEOUT <seconds>])
#
# The CTest entry alone. Its cases are also written to <build>/test-results/<name>.xml (JUnit), which
# tools/test counts. The tests find the build through STC_TEST_BIN, STC_TEST_PLUGINS and STC_TEST_SOURCE.
function(stc_add_test_entry name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "COMMAND;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(STC_SANITIZE)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 5")
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/test-results")
  set(environment
    "STC_TEST_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}" "STC_TEST_PLUGINS=${STC_PLUGIN_OUTPUT_DIRECTORY}"
    "STC_TEST_SOURCE=${PROJECT_SOURCE_DIR}"
    "GOMP_SPINCOUNT=1000" # as stc-host sets it: tests share the cores
    "BOOST_TEST_LOGGER=HRF,message,stdout:JUNIT,message,${PROJECT_BINARY_DIR}/test-results/${name}.xml")
  add_test(NAME ${name} COMMAND ${ARG_COMMAND} WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${environment}")
endfunction()
