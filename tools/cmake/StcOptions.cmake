# Compile options of stc's own targets. Never exported.
add_library(stc_options INTERFACE)
target_compile_options(stc_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual>
  $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wpedantic>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 sees overlaps inside libstdc++'s own strings that are not there (GCC bugs 105329, 105651).
  target_compile_options(stc_options INTERFACE -Wno-restrict)
endif()
if(STC_WERROR)
  target_compile_options(stc_options INTERFACE -Werror)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # These come from the optimizer's flow analysis, which is wrong about libstdc++'s own containers at -O3
    # (GCC bug 105562): shown, but no error.
    target_compile_options(stc_options INTERFACE -Wno-error=restrict -Wno-error=maybe-uninitialized
      -Wno-error=array-bounds -Wno-error=stringop-overflow -Wno-error=stringop-overread -Wno-error=dangling-pointer
      -Wno-error=free-nonheap-object -Wno-error=use-after-free -Wno-error=nonnull)
  endif()
endif()
if(STC_SANITIZE)
  target_compile_options(stc_options INTERFACE -fsanitize=${STC_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(stc_options INTERFACE -fsanitize=${STC_SANITIZE})
endif()
