#!/usr/bin/env bash
# Runs each libFuzzer target for a while from its corpus, and says what that reached:
#
#   ./dev build fuzz && tests/fuzz/run.sh [SECONDS [TARGET…]]
#
# SECONDS are of each target (default: 20). The corpus is what the target's own seeds make, and
# what earlier runs found in build/fuzz/corpus/TARGET. A line for each: executions, edges reached
# of those there are, features, inputs of the corpus before and after. An input that crashes, leaks
# or hangs ends the target, is kept in build/fuzz/findings, and makes the exit status 1: as a seed
# of the target (tests/fuzz/TARGET_fuzz.cpp) it stays found.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seconds=${1:-20}
shift $(($# ? 1 : 0))
readonly bin=build/fuzz/bin findings=build/fuzz/findings
targets=("$@")
if ((${#targets[@]} == 0)); then
  for program in "$bin"/*_fuzz; do targets+=("$(basename "${program%_fuzz}")"); done
fi
mkdir -p "$findings"
printf '%-14s %12s %9s %18s %9s %15s\n' target executions per-second 'edges reached' features 'corpus'
status=0
for target in "${targets[@]}"; do
  [[ -x $bin/${target}_fuzz ]] || { printf 'run.sh: no %s: ./dev build fuzz\n' "$bin/${target}_fuzz" >&2; exit 2; }
  corpus=build/fuzz/corpus/$target
  log=build/fuzz/$target.log
  mkdir -p "$corpus"
  "$bin/${target}_corpus" "$corpus" >/dev/null
  before=$(find "$corpus" -type f | wc -l)
  ended=0
  "$bin/${target}_fuzz" "$corpus" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3072 -print_final_stats=1 \
    -artifact_prefix="$findings/$target-" >"$log" 2>&1 || ended=$?
  found=''
  if ((ended)); then found="  FOUND: $log" status=1; fi
  edges=$(sed -n 's/.*Loaded [0-9]* modules\{0,1\} *(\([0-9]*\) inline.*/\1/p' "$log" | tail -n 1)
  # An input that ends the target at once leaves it without these.
  reached=$(grep -o ' cov: [0-9]*' "$log" | tail -n 1 | tr -dc 0-9) || true
  features=$(grep -o ' ft: [0-9]*' "$log" | tail -n 1 | tr -dc 0-9) || true
  executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
  printf '%-14s %12s %9s %8s of %6s %9s %6d to %5d%s\n' "$target" "${executed:-0}" "${rate:-0}" "${reached:-0}" \
    "${edges:-?}" "${features:-0}" "$before" "$(find "$corpus" -type f | wc -l)" "$found"
done
exit "$status"
