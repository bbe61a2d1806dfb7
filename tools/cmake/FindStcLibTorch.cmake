# LibTorch as imported targets stc::torch_cpu and stc::c10.
#
# Looked for, in this order: STC_LIBTORCH_ROOT (cache or environment), Torch_DIR, CMAKE_PREFIX_PATH
# (cache or environment), and the Python package in the virtual environment that tools/setup creates:
# <build>/venv, STC_BUILD/venv, or build/venv in the source folder. LibTorch's
# own package file is not used: it adds the RPATHs of its makers, probes the machine, and writes
# absolute paths into whatever links it.
#
# Sets STC_LIBTORCH_VERSION and STC_LIBTORCH_DIR (holding include/ and lib/).
set(_stc_torch_hints)
foreach(_root "${STC_LIBTORCH_ROOT}" "$ENV{STC_LIBTORCH_ROOT}")
  if(_root)
    list(APPEND _stc_torch_hints "${_root}" "${_root}/torch")
  endif()
endforeach()
foreach(_dir "${Torch_DIR}" "$ENV{Torch_DIR}")
  if(_dir)
    list(APPEND _stc_torch_hints "${_dir}/../../..")
  endif()
endforeach()
list(APPEND _stc_torch_hints ${CMAKE_PREFIX_PATH})
if(DEFINED ENV{CMAKE_PREFIX_PATH})
  string(REPLACE ":" ";" _stc_prefixes "$ENV{CMAKE_PREFIX_PATH}")
  list(APPEND _stc_torch_hints ${_stc_prefixes})
endif()
foreach(_folder "${CMAKE_BINARY_DIR}" "$ENV{STC_BUILD}" "${PROJECT_SOURCE_DIR}/build")
  if(_folder)
    file(GLOB _stc_wheels LIST_DIRECTORIES true "${_folder}/venv/lib/python3*/site-packages/torch")
    list(APPEND _stc_torch_hints ${_stc_wheels})
  endif()
endforeach()

find_path(STC_LIBTORCH_DIR NAMES include/torch/csrc/stable/c/shim.h HINTS ${_stc_torch_hints} NO_DEFAULT_PATH)
if(STC_LIBTORCH_DIR AND EXISTS "${STC_LIBTORCH_DIR}/include/torch/headeronly/version.h")
  file(STRINGS "${STC_LIBTORCH_DIR}/include/torch/headeronly/version.h" _lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH)")
elseif(STC_LIBTORCH_DIR)
  file(STRINGS "${STC_LIBTORCH_DIR}/include/torch/csrc/api/include/torch/version.h" _lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH)")
endif()
set(_numbers)
foreach(_line ${_lines})
  string(REGEX REPLACE ".* ([0-9]+).*" "\\1" _number "${_line}")
  list(APPEND _numbers "${_number}")
endforeach()
list(JOIN _numbers "." STC_LIBTORCH_VERSION)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(StcLibTorch REQUIRED_VARS STC_LIBTORCH_DIR VERSION_VAR STC_LIBTORCH_VERSION
  REASON_FAILURE_MESSAGE "LibTorch 2.10 or newer is needed: run tools/setup, or set STC_LIBTORCH_ROOT to a folder that holds include/ and lib/")
if(StcLibTorch_FOUND AND NOT TARGET stc::torch_cpu)
  foreach(_name c10 torch_cpu)
    add_library(stc::${_name} SHARED IMPORTED)
    set_target_properties(stc::${_name} PROPERTIES
      IMPORTED_LOCATION "${STC_LIBTORCH_DIR}/lib/lib${_name}.so" IMPORTED_SONAME "lib${_name}.so")
    target_include_directories(stc::${_name} SYSTEM INTERFACE
      "${STC_LIBTORCH_DIR}/include" "${STC_LIBTORCH_DIR}/include/torch/csrc/api/include")
  endforeach()
  target_link_libraries(stc::torch_cpu INTERFACE stc::c10)
  # at::parallel_for is code of the file that includes it, and runs on one thread unless that file knows
  # OpenMP. The runtime must be the very one that LibTorch loads: two of them would be two sets of threads.
  file(GLOB _stc_gomp "${STC_LIBTORCH_DIR}/lib/libgomp*.so*" "${STC_LIBTORCH_DIR}/../torch.libs/libgomp*.so*")
  list(APPEND _stc_gomp gomp)
  list(GET _stc_gomp 0 _stc_gomp)
  add_library(stc::torch_openmp INTERFACE IMPORTED)
  target_link_libraries(stc::torch_openmp INTERFACE "${_stc_gomp}")
endif()
