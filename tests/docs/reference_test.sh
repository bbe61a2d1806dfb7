#!/usr/bin/env bash
# reference_test.sh SOURCE BUILD OUT: generates the reference pages into OUT and compares them with docs/reference.
set -euo pipefail
source="$1" build="$2" out="$3"
rm -rf "$out"
STC_BUILD="$build" "$source/tools/docs/generate" "$out"
status=0
for page in config.md plugins.md; do
  diff -u "$source/docs/reference/$page" "$out/$page" || status=1
done
if [ "$status" -ne 0 ]; then echo "the reference is out of date: run tools/docs/generate and commit the pages" >&2; fi
exit "$status"
