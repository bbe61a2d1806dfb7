#!/usr/bin/env bash
# Each header of the SDK compiles alone, without a warning:
#   abi: as C11, C++17 and C++20; plain: all of the C++ layer that needs no LibTorch; kinds: one header of it
#   for each kind; stable, exact: the levels with LibTorch.
# usage: headers_compile_test.sh GROUP SDK_INCLUDE... -- COMPILER...      GROUP: abi, plain, kinds, stable, exact
# A compiler is "cc:c++"; one that is not installed is named and skipped. TORCH_INCLUDE: LibTorch's include/.
set -u
group=$1; shift
includes=(); while [[ $1 != -- ]]; do includes+=("$1"); shift; done; shift
root=${includes[0]}
flags=(-Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only)
for dir in "${includes[@]}"; do flags+=("-I$dir"); done
scratch=$(mktemp -d); trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0

compile() {  # compiler, standard, language, header relative to an include folder
  echo "#include \"$4\"" > "$scratch/alone.$3"
  if "$1" "-std=$2" "${flags[@]}" "$scratch/alone.$3" 2> "$scratch/log"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1)); echo "FAILED: $1 -std=$2 $4"; head -n 20 "$scratch/log"
  fi
}

case $group in
  abi) headers=$(cd "$root" && ls stc/abi.h stc/abi/*.h) ;;
  plain) headers=$(cd "$root" && ls stc/*.hpp stc/core/*.hpp stc/plain/*.hpp
                   cd "${includes[2]}" && grep -L 'ATen/\|torch_host.hpp\|stc/exact' stc/testing/*.hpp) ;;
  kinds) headers=$(cd "$root" && ls stc/plain/*.hpp && echo stc/testing/plain.hpp) ;;
  stable) headers=$(cd "$root" && ls stc/stable/*.hpp) ;;
  exact) headers=$(cd "$root" && ls stc/exact/*.hpp
                   cd "${includes[2]}" && grep -l 'ATen/\|torch_host.hpp\|stc/exact' stc/testing/*.hpp) ;;
esac
if [[ $group == stable || $group == exact ]]; then
  flags+=(-isystem "$TORCH_INCLUDE" -isystem "$TORCH_INCLUDE/torch/csrc/api/include")
fi
for pair in "$@"; do
  cc=${pair%%:*} cxx=${pair##*:}
  if ! command -v "$cxx" > /dev/null; then echo "skipped: $cxx is not installed"; continue; fi
  for header in $headers; do
    if [[ $group == abi ]]; then
      compile "$cc" c11 c "$header"
      compile "$cxx" c++17 cpp "$header"
    fi
    compile "$cxx" c++20 cpp "$header"
  done
done
echo "$passed compiled, $failed failed"
[[ $failed == 0 && $passed -gt 0 ]]
