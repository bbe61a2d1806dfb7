#!/usr/bin/env bash
# The note is still there after strip and --gc-sections, with gcc and with clang, and says what the macros say.
# usage: note_survives_test.sh SDK_INCLUDE GENERATED_INCLUDE VERSION_SCRIPT COMPILER...
set -u
includes=("-I$1" "-I$2") script=$3; shift 3
scratch=$(mktemp -d); trap 'rm -rf "$scratch"' EXIT
failed=0 tried=0
cat > "$scratch/two.cpp" << 'CODE'
#include "stc/plain/precision.hpp"
#include "stc/plain/sink.hpp"
struct One { void event(const stc::EventView&) {} };
struct Two { stc::PrecisionPlan resolve(const stc::DeviceInfo&, std::string_view) { return {}; } };
STC_DEFINE_SINK(One, "one", "1.2.3", "the first of two");
STC_DEFINE_PRECISION(Two, "two", "4.5.6", "the second of two");
STC_PLUGIN_LIBRARY(plain, One, Two);
CODE
for cxx in "$@"; do
  if ! command -v "$cxx" > /dev/null; then echo "skipped: $cxx is not installed"; continue; fi
  tried=$((tried + 1))
  "$cxx" -std=c++20 -O2 -fPIC -shared -fvisibility=hidden -ffunction-sections -fdata-sections "${includes[@]}" \
    '-DSTC_PLUGIN_PACKAGE="two-of-them"' '-DSTC_PLUGIN_VERSION="7.8.9"' '-DSTC_PLUGIN_LICENCE="MIT"' \
    "-Wl,--gc-sections,-z,defs,--version-script=$script" "$scratch/two.cpp" -o "$scratch/two.so" || { failed=$((failed + 1)); continue; }
  strip --strip-all "$scratch/two.so"
  readelf -nW "$scratch/two.so" > "$scratch/note"
  [[ $(grep -c '^  STC ' "$scratch/note") == 3 ]] || { echo "FAILED: $cxx: expected 3 notes"; cat "$scratch/note"; failed=$((failed + 1)); }
  objcopy -O binary --only-section=.note.stc "$scratch/two.so" "$scratch/note.bin"
  for text in one two 1.2.3 4.5.6 "the first of two" "the second of two" two-of-them 7.8.9 MIT; do
    grep -aq "$text" "$scratch/note.bin" || { echo "FAILED: $cxx: the note lacks \"$text\""; failed=$((failed + 1)); }
  done
done
echo "$tried compilers, $failed faults"
[[ $failed == 0 && $tried -gt 0 ]]
