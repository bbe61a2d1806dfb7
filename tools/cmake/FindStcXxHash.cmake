# Imported target stc::xxhash, from Debian's libxxhash-dev.
find_path(STC_XXHASH_INCLUDE xxhash.h)
find_library(STC_XXHASH_LIBRARY xxhash)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(StcXxHash REQUIRED_VARS STC_XXHASH_LIBRARY STC_XXHASH_INCLUDE)
if(StcXxHash_FOUND AND NOT TARGET stc::xxhash)
  add_library(stc::xxhash UNKNOWN IMPORTED)
  set_target_properties(stc::xxhash PROPERTIES IMPORTED_LOCATION "${STC_XXHASH_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${STC_XXHASH_INCLUDE}")
endif()
mark_as_advanced(STC_XXHASH_INCLUDE STC_XXHASH_LIBRARY)
