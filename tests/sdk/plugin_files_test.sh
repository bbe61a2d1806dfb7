#!/usr/bin/env bash
# What every built plugin must be: one exported symbol, no unique symbols, never unloaded, no search paths
# of the machine that built it, and a readable note.
# usage: plugin_files_test.sh PLUGIN.so...
set -u
failed=0
fail() { echo "FAILED: $1: $2"; failed=$((failed + 1)); }
[[ $# -gt 0 ]] || { echo "FAILED: no plugins given"; exit 1; }
for file in "$@"; do
  [[ -f $file ]] || { fail "$file" "is not built"; continue; }
  exported=$(nm -D --defined-only "$file" | awk '{print $3}' | tr '\n' ' ')
  [[ $exported == "stc_plugin_entry_v1 " ]] || fail "$file" "exports $exported"
  unique=$(nm -D "$file" | awk '$2 == "u" || $1 == "u"')
  [[ -z $unique ]] || fail "$file" "has unique symbols: $unique"
  dynamic=$(readelf -dW "$file")
  grep -q NODELETE <<< "$dynamic" || fail "$file" "has no NODELETE flag"
  grep -Eq 'FLAGS.*NOW|BIND_NOW' <<< "$dynamic" || fail "$file" "is not bound at load (-z now)"
  grep -Eq 'RPATH|RUNPATH' <<< "$dynamic" && fail "$file" "has an RPATH: $(grep -E 'RPATH|RUNPATH' <<< "$dynamic")"
  notes=$(readelf -nW "$file" | grep -c '^  STC ')
  [[ $notes -ge 2 ]] || fail "$file" "has $notes STC notes, expected one for the library and one for each plugin"
  readelf -lW "$file" | grep -q 'NOTE' || fail "$file" "has no PT_NOTE"
done
echo "$# plugins, $failed faults"
[[ $failed == 0 ]]
