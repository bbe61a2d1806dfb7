#!/usr/bin/env bash
# run_fuzz.sh TARGET CORPUS WORK: runs a fuzz target over its committed corpus, then lets it search for STC_FUZZ_SECONDS (60).
# What it finds stays in WORK: copy new seeds that are worth it into the corpus, an input that fails always.
set -euo pipefail
target="$1" corpus="$2" work="$3"
if [ ! -x "$target" ]; then
  echo "skipped: clang++-14 or its fuzzer library is not installed"
  exit 0
fi
mkdir -p "$work/found"
exec "$target" -max_total_time="${STC_FUZZ_SECONDS:-60}" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
  -artifact_prefix="$work/" "$work/found" "$corpus"
