# stc_host_library(<room> SOURCES <files> [LINK <libraries>])
#
# One static library per room of the host (host/<room>), target stc_<room>. Rooms include each other
# as "host/<room>/<file>.hpp".
function(stc_host_library room)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(stc_${room} STATIC ${ARG_SOURCES})
  target_include_directories(stc_${room} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(stc_${room} PUBLIC stc::sdk ${ARG_LINK} PRIVATE stc_options)
endfunction()
