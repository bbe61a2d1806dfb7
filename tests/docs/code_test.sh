#!/usr/bin/env bash
# code_test.sh SOURCE: each block of a guide that follows a line "<!-- from PATH -->" is the text of that file, and every
# relative link of README.md and docs/ leads to a file.
set -euo pipefail
cd "$1"
status=0
blocks=0
for page in docs/guide/*.md; do
  while IFS= read -r path; do
    blocks=$((blocks + 1))
    block="$(awk -v mark="<!-- from $path -->" '
      $0 == mark { wanted = 1; next } wanted && /^```/ { if (inside) exit; inside = 1; next } inside { print }' "$page")"
    if [ "$block" != "$(cat "$path")" ]; then
      echo "$page: the block from $path differs from the file" >&2
      status=1
    fi
  done < <(sed -n 's/^<!-- from \(.*\) -->$/\1/p' "$page")
done
if [ "$blocks" -eq 0 ]; then echo "no guide quotes a file" >&2; status=1; fi
for page in README.md sdk/README.md docs/*/*.md; do
  while IFS= read -r link; do
    target="$(dirname "$page")/${link%%#*}"
    if [ ! -e "$target" ]; then echo "$page: the link to $link leads nowhere" >&2; status=1; fi
  done < <(grep -o '](\([^)]*\))' "$page" | sed 's/^](//; s/)$//' | grep -v '^http' | grep -v '^#' || true)
done
exit "$status"
