# Compile options of stc's own targets. Never exported.
add_library(stc_options INTERFACE)
target_compile_options(stc_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual>
  $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wpedantic>)
if(STC_WERROR)
  target_compile_options(stc_options INTERFACE -Werror)
endif()
if(STC_SANITIZE)
  target_compile_options(stc_options INTERFACE -fsanitize=${STC_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(stc_options INTERFACE -fsanitize=${STC_SANITIZE})
endif()
