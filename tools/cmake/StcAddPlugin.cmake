# stc_add_plugin(<name> KIND <kind> LEVEL plain|stable|exact SOURCES <files> [LINK <libraries>]
#                [PACKAGE <text>] [VERSION <text>] [LICENCE <text>] [DESTINATION <folder>])
#
# A shared library stc_<kind>_<name>.so that exports the one entry and never unloads, and an object
# library <target>_core with the same sources, which unit tests link. LEVEL decides what it may use:
#   plain   nothing of LibTorch
#   stable  libtorch_cpu.so through its C shims (headers torch/csrc/stable/c, torch/csrc/inductor)
#   exact   LibTorch's C++ API
# PACKAGE, VERSION and LICENCE are written into the note; without them the project's name and version and
# the variable STC_PLUGIN_LICENCE. A plugin is installed by `cmake --install`, into DESTINATION,
# STC_PLUGIN_INSTALL_DIR or lib/stc/plugins. Where a program stc-host is known (the target, or
# STC_HOST_PROGRAM of the installed package), a test runs `stc-host plugins check` on it.
# Works inside stc's tree and, from an installed stc-sdk, outside of it.
set(STC_ADD_PLUGIN_DIR "${CMAKE_CURRENT_LIST_DIR}")

function(stc_add_plugin name)
  cmake_parse_arguments(ARG "" "KIND;LEVEL;PACKAGE;VERSION;LICENCE;DESTINATION" "SOURCES;LINK" ${ARGN})
  _stc_check_plugin_arguments("${name}" "${ARG_KIND}" "${ARG_LEVEL}" "${ARG_SOURCES}" "${ARG_UNPARSED_ARGUMENTS}")
  set(target stc_${ARG_KIND}_${name})
  set(links stc::sdk ${ARG_LINK})
  if(NOT ARG_LEVEL STREQUAL "plain")
    list(APPEND links stc::torch_cpu)
  endif()

  add_library(${target}_core OBJECT ${ARG_SOURCES})
  set_target_properties(${target}_core PROPERTIES POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  # A unique symbol is one for the whole process, whatever the linker's scope: two plugins would share it.
  target_compile_options(${target}_core PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
  _stc_note_definitions(${target}_core "${ARG_PACKAGE}" "${ARG_VERSION}" "${ARG_LICENCE}")
  target_link_libraries(${target}_core PUBLIC ${links})

  add_library(${target} MODULE $<TARGET_OBJECTS:${target}_core>)
  target_link_libraries(${target} PRIVATE ${links})
  if(TARGET stc_options)
    target_link_libraries(${target}_core PRIVATE stc_options)
    target_link_libraries(${target} PRIVATE stc_options)
  endif()
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX PREFIX "" OUTPUT_NAME ${target}
    SKIP_BUILD_RPATH ON INSTALL_RPATH "" LINK_DEPENDS "${STC_ADD_PLUGIN_DIR}/stc_plugin.version")
  if(STC_PLUGIN_OUTPUT_DIRECTORY)
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${STC_PLUGIN_OUTPUT_DIRECTORY}")
  endif()
  target_link_options(${target} PRIVATE "LINKER:--version-script=${STC_ADD_PLUGIN_DIR}/stc_plugin.version"
    LINKER:-z,now LINKER:-z,nodelete LINKER:--as-needed)
  if(NOT STC_SANITIZE)  # the sanitizers' symbols come from the program
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
  set_property(GLOBAL APPEND PROPERTY STC_PLUGIN_TARGETS ${target})
  _stc_install_plugin(${target} "${ARG_DESTINATION}")
  _stc_check_test(${target} plugin_check_${ARG_KIND}_${name})
endfunction()

function(_stc_check_plugin_arguments name kind level sources rest)
  set(kinds dataset tokenizer model optimizer precision sync coordinator collective sink)
  set(levels plain stable exact)
  if(NOT kind IN_LIST kinds)
    message(FATAL_ERROR "stc_add_plugin(${name}): got KIND \"${kind}\", expected one of ${kinds}")
  endif()
  if(NOT level IN_LIST levels)
    message(FATAL_ERROR "stc_add_plugin(${name}): got LEVEL \"${level}\", expected one of ${levels}")
  endif()
  if(sources STREQUAL "")
    message(FATAL_ERROR "stc_add_plugin(${name}): got no SOURCES")
  endif()
  if(NOT rest STREQUAL "")
    message(FATAL_ERROR "stc_add_plugin(${name}): got ${rest}, expected KIND, LEVEL, SOURCES, LINK, PACKAGE, VERSION, LICENCE, DESTINATION")
  endif()
  if(NOT level STREQUAL "plain" AND NOT TARGET stc::torch_cpu)
    message(FATAL_ERROR "stc_add_plugin(${name}): LEVEL ${level} needs LibTorch: find_package(stc-sdk COMPONENTS ${level})")
  endif()
endfunction()

function(_stc_note_definitions target package version licence)
  if(package STREQUAL "")
    set(package "${PROJECT_NAME}")
  endif()
  if(version STREQUAL "")
    set(version "${PROJECT_VERSION}")
  endif()
  if(licence STREQUAL "")
    set(licence "${STC_PLUGIN_LICENCE}")
  endif()
  foreach(word PACKAGE VERSION LICENCE)
    string(TOLOWER ${word} variable)
    if(NOT "${${variable}}" STREQUAL "")
      target_compile_definitions(${target} PRIVATE "STC_PLUGIN_${word}=\"${${variable}}\"")
    endif()
  endforeach()
endfunction()

function(_stc_install_plugin target destination)
  if(destination STREQUAL "")
    set(destination "${STC_PLUGIN_INSTALL_DIR}")
  endif()
  if(destination STREQUAL "")
    set(destination lib/stc/plugins)
  endif()
  install(TARGETS ${target} LIBRARY DESTINATION "${destination}" COMPONENT plugins)
endfunction()

function(_stc_check_test target test)
  if(TARGET stc-host)
    set(program stc-host)
  elseif(STC_HOST_PROGRAM)
    set(program "${STC_HOST_PROGRAM}")
  endif()
  if(program AND (BUILD_TESTING OR STC_BUILD_TESTS) AND NOT STC_PLUGIN_CHECK_OFF)
    add_test(NAME ${test} COMMAND ${program} plugins check $<TARGET_FILE:${target}>)
    set_tests_properties(${test} PROPERTIES LABELS integration TIMEOUT 120)
  endif()
endfunction()
