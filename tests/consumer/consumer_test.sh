#!/usr/bin/env bash
# Installs stc into a new prefix, and from there on uses nothing but that prefix: builds an outside project
# with one plugin of each level and the starter, and trains with them.
# usage: consumer_test.sh STC_BUILD STC_SOURCE LIBTORCH_ROOT CMAKE C_COMPILER CXX_COMPILER
set -eu
build=$1 source=$2 torch=$3 cmake=$4 cc=$5 cxx=$6
work=$(mktemp -d "${TMPDIR:-/tmp}/stc-consumer-XXXXXX"); trap 'rm -rf "$work"' EXIT
prefix=$work/moved/prefix
fail() { echo "FAILED: $*"; exit 1; }
quietly() { "$@" > "$work/log" 2>&1 || { tail -n 60 "$work/log"; fail "$*"; }; }

echo "install"
quietly "$cmake" --install "$build" --prefix "$work/prefix"
mkdir "$work/moved"; mv "$work/prefix" "$prefix"  # it works wherever it is moved to
for file in bin/stc-host lib/stc/libstc_host.so lib/stc/libtorch_cpu.so lib/stc/libc10.so include/stc/abi.h include/stc/plugin.hpp \
            include/stc/version.hpp include/stc/testing/plain.hpp lib/cmake/stc-sdk/stc-sdkConfig.cmake share/stc/template/starter.cpp; do
  [[ -e $prefix/$file ]] || fail "$file is not installed"
done
grep -rIlF -e "$build" -e "$source" "$prefix" && fail "these installed texts hold a path of the build"
for file in "$prefix"/lib/stc/plugins/*.so; do
  readelf -dW "$file" | grep -E 'RPATH|RUNPATH' && fail "$file has an RPATH"
done
readelf -dW "$prefix/lib/stc/libstc_host.so" | grep -q 'RUNPATH.*\[$ORIGIN\]\|RPATH.*\[$ORIGIN\]' || fail "libstc_host.so has not \$ORIGIN alone as its RPATH"
ldd "$prefix/lib/stc/libstc_host.so" > "$work/needs"
grep 'not found' "$work/needs" && fail "a library is missing"
for library in libtorch_cpu.so libc10.so libgomp; do
  ! grep "$library" "$work/needs" | grep -v "$prefix/lib/stc/" || fail "$library comes from elsewhere"
done

host=$prefix/bin/stc-host
configure() {  # source, build, options
  quietly "$cmake" -S "$1" -B "$2" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
    -DCMAKE_BUILD_TYPE=Release "${@:3}"
}
echo "the starter, without LibTorch"
cp -r "$prefix/share/stc/template" "$work/starter"
(unset STC_LIBTORCH_ROOT Torch_DIR; configure "$work/starter" "$work/starter/build")
quietly "$cmake" --build "$work/starter/build"
quietly ctest --test-dir "$work/starter/build" --output-on-failure --no-tests=error

echo "one plugin of each level"
cp -r "$source/tests/consumer/project" "$work/project"
configure "$work/project" "$work/project/build" -DSTC_LIBTORCH_ROOT="$torch"
quietly "$cmake" --build "$work/project/build" -j2
quietly ctest --test-dir "$work/project/build" --output-on-failure --no-tests=error
bash "$source/tests/sdk/plugin_files_test.sh" "$work/project/build/plugins"/*.so

echo "train"
plugins=$work/project/build/plugins
"$host" plugins list --plugin-path "$plugins" > "$work/list" || fail "plugins list"
for name in tally descent mlp; do grep -q "$name" "$work/list" || { cat "$work/list"; fail "plugins list does not show $name"; }; done
cp "$work/project/run.yaml" "$work/run.yaml"
(cd "$work" && quietly "$host" run run.yaml --plugin-path "$plugins")
cat "$work/tally.txt"
grep -q '^train_step 12$' "$work/tally.txt" || fail "expected 12 records train_step"
find "$work/out" -name 'manifest.json' -o -name '*.safetensors' | grep -q . || fail "no checkpoint was written"

echo "exact refuses another LibTorch"
mkdir -p "$work/other/lib/cmake"; cp -r "$prefix/include" "$work/other/"; cp -r "$prefix/lib/cmake/stc-sdk" "$work/other/lib/cmake/"
sed -i 's/^set(STC_SDK_TORCH_VERSION ".*")/set(STC_SDK_TORCH_VERSION "9.9.9")/' "$work/other/lib/cmake/stc-sdk/stc-sdkConfig.cmake"
if "$cmake" -S "$work/project" -B "$work/refused" -DCMAKE_PREFIX_PATH="$work/other" -DSTC_LIBTORCH_ROOT="$torch" > "$work/log" 2>&1; then
  fail "another LibTorch was accepted"
fi
tr -s ' \n' ' ' < "$work/log" | grep -q 'component exact needs LibTorch 9.9.9' || { cat "$work/log"; fail "the refusal does not say why"; }
echo "passed"
