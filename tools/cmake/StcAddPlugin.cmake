# stc_add_plugin(<name> KIND <kind> LEVEL plain|stable|exact SOURCES <files> [LINK <libraries>])
#
# A shared library stc_<kind>_<name>.so that exports the one entry and never unloads, and an object
# library <target>_core with the same sources, which unit tests link. LEVEL decides what it may use:
#   plain   nothing of LibTorch
#   stable  libtorch_cpu.so through its C shims (headers torch/csrc/stable/c, torch/csrc/inductor)
#   exact   LibTorch's C++ API
# Works inside stc's tree and, from an installed stc-sdk, outside of it.
set(STC_ADD_PLUGIN_DIR "${CMAKE_CURRENT_LIST_DIR}")

function(stc_add_plugin name)
  cmake_parse_arguments(ARG "" "KIND;LEVEL" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_KIND MATCHES "^(dataset|tokenizer|model|optimizer|precision|sync|coordinator|collective|sink)$")
    message(FATAL_ERROR "stc_add_plugin(${name}): KIND ${ARG_KIND} is none of dataset, tokenizer, model, optimizer, precision, sync, coordinator, collective, sink")
  endif()
  if(NOT ARG_LEVEL MATCHES "^(plain|stable|exact)$")
    message(FATAL_ERROR "stc_add_plugin(${name}): LEVEL ${ARG_LEVEL} is none of plain, stable, exact")
  endif()
  set(target stc_${ARG_KIND}_${name})
  add_library(${target}_core OBJECT ${ARG_SOURCES})
  set_target_properties(${target}_core PROPERTIES POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  target_compile_options(${target}_core PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-gnu-unique>)
  target_link_libraries(${target}_core PUBLIC stc::sdk ${ARG_LINK})
  if(TARGET stc_options)
    target_link_libraries(${target}_core PRIVATE stc_options)
  endif()
  if(NOT ARG_LEVEL STREQUAL "plain")
    target_link_libraries(${target}_core PUBLIC stc::torch_cpu)
  endif()

  add_library(${target} MODULE $<TARGET_OBJECTS:${target}_core>)
  target_link_libraries(${target} PRIVATE stc::sdk ${ARG_LINK})
  if(TARGET stc_options)
    target_link_libraries(${target} PRIVATE stc_options)
  endif()
  if(NOT ARG_LEVEL STREQUAL "plain")
    target_link_libraries(${target} PRIVATE stc::torch_cpu)
  endif()
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX PREFIX "" OUTPUT_NAME ${target} SKIP_BUILD_RPATH ON
    LINK_DEPENDS "${STC_ADD_PLUGIN_DIR}/stc_plugin.version")
  if(STC_PLUGIN_OUTPUT_DIRECTORY)
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${STC_PLUGIN_OUTPUT_DIRECTORY}")
  endif()
  target_link_options(${target} PRIVATE "LINKER:--version-script=${STC_ADD_PLUGIN_DIR}/stc_plugin.version"
    LINKER:-z,defs LINKER:-z,now LINKER:-z,nodelete LINKER:--as-needed)
  set_property(GLOBAL APPEND PROPERTY STC_PLUGIN_TARGETS ${target})
  if(TARGET stc-host AND BUILD_TESTING AND NOT DEFINED STC_PLUGIN_CHECK_OFF)
    add_test(NAME plugin_check_${ARG_KIND}_${name} COMMAND stc-host plugins check $<TARGET_FILE:${target}>)
    set_tests_properties(plugin_check_${ARG_KIND}_${name} PROPERTIES LABELS "integration" TIMEOUT 120)
  endif()
endfunction()
