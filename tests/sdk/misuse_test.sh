#!/usr/bin/env bash
# Misuse does not compile, and the compiler's output has the words that explain it.
# usage: misuse_test.sh SDK_INCLUDE GENERATED_INCLUDE COMPILER
set -u
includes=("-I$1" "-I$2") cxx=$3
scratch=$(mktemp -d); trap 'rm -rf "$scratch"' EXIT
failed=0 cases=0
sink='#include "stc/plain/sink.hpp"
struct S { void event(const stc::EventView&) {} };'

refused() {  # title, words expected, flags, code
  cases=$((cases + 1))
  printf '%s\n' "$4" > "$scratch/case.cpp"
  if "$cxx" -std=c++20 -fsyntax-only $3 "${includes[@]}" "$scratch/case.cpp" 2> "$scratch/log"; then
    echo "FAILED: $1: it compiles"; failed=$((failed + 1))
  elif ! grep -q -- "$2" "$scratch/log"; then
    echo "FAILED: $1: the compiler does not say \"$2\""; head -n 15 "$scratch/log"; failed=$((failed + 1))
  fi
}
printf '%s\n' "$sink" 'STC_SINK_PLUGIN(S, "ok", "1", "good")' > "$scratch/good.cpp"
"$cxx" -std=c++20 -fsyntax-only "${includes[@]}" "$scratch/good.cpp" || { echo "FAILED: the good case does not compile"; exit 1; }

refused "name of 48 bytes" text_is_too_long_for_the_note "" "$sink
STC_SINK_PLUGIN(S, \"a23456789_123456789_123456789_123456789_12345678\", \"1\", \"x\")"
refused "doc of 160 bytes" text_is_too_long_for_the_note "" "$sink
STC_SINK_PLUGIN(S, \"s\", \"1\", \"$(printf 'x%.0s' $(seq 160))\")"
refused "version of 24 bytes" text_is_too_long_for_the_note "" "$sink
STC_SINK_PLUGIN(S, \"s\", \"1.0.0-alpha.1.2.3.4.5.6.7\", \"x\")"
refused "package of 64 bytes" text_is_too_long_for_the_note "-DSTC_PLUGIN_PACKAGE=\"$(printf 'x%.0s' $(seq 64))\"" "$sink
STC_SINK_PLUGIN(S, \"s\", \"1\", \"x\")"
refused "name in capitals" name_is_not_lower_case_with_digits_and_underscores "" "$sink
STC_SINK_PLUGIN(S, \"Csv\", \"1\", \"x\")"
refused "target of a later ABI" "STC_TARGET_ABI is not a version" "-DSTC_TARGET_ABI=STC_ABI(9,0)" "$sink
STC_SINK_PLUGIN(S, \"s\", \"1\", \"x\")"
refused "sink without event" "a sink has a member void event" "" '#include "stc/plain/sink.hpp"
struct S {}; STC_SINK_PLUGIN(S, "s", "1", "x")'
refused "parameter of a type that none has" "" "" '#include "stc/plain/sink.hpp"
struct S { struct Params { float x = 0; template <class V> static void describe(V& v) { v("x", &Params::x, "d"); } };
void event(const stc::EventView&) {} }; STC_SINK_PLUGIN(S, "s", "1", "x")'
refused "constructor that fits no form" "a plugin is constructed from" "" '#include "stc/plain/sink.hpp"
struct S { explicit S(int*) {} void event(const stc::EventView&) {} }; STC_SINK_PLUGIN(S, "s", "1", "x")'
refused "save without load" "has both save" "" '#include "stc/plain/precision.hpp"
struct P { stc::PrecisionPlan resolve(const stc::DeviceInfo&, std::string_view) { return {}; } void save(stc::StateWriter&) {} };
STC_PRECISION_PLUGIN(P, "p", "1", "x")'
refused "next without seek" "a stream with next has seek" "" '#include "stc/plain/dataset.hpp"
struct D { struct S { bool next(uint32_t, stc::Rows&) { return false; } }; std::vector<stc::Split> splits() { return {}; }
std::vector<stc::Field> fields() { return {}; } std::string fingerprint() { return {}; } S open(std::string_view, uint32_t, uint32_t) { return {}; } };
STC_DATASET_PLUGIN(D, "d", "1", "x")'
refused "stream without get and next" "has get(std::span" "" '#include "stc/plain/dataset.hpp"
struct D { struct S {}; std::vector<stc::Split> splits() { return {}; } std::vector<stc::Field> fields() { return {}; }
std::string fingerprint() { return {}; } S open(std::string_view, uint32_t, uint32_t) { return {}; } };
STC_DATASET_PLUGIN(D, "d", "1", "x")'
refused "tokenizer without decode" "a tokenizer has decode" "" '#include "stc/plain/tokenizer.hpp"
struct T { uint64_t size() { return 1; } void encode(std::string_view, std::vector<int32_t>&) {} };
STC_TOKENIZER_PLUGIN(T, "t", "1", "x")'
refused "sync without poll" "a sync has identity, list, read, commit, poll and ensure" "" '#include "stc/plain/sync.hpp"
struct S {}; STC_SYNC_PLUGIN(S, "s", "1", "x")'
echo "$cases cases, $failed failed"
[[ $failed == 0 ]]
