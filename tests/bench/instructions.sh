#!/usr/bin/env bash
# Instructions of named benchmarks, counted by valgrind (no timing: the same on a busy machine): tests/bench/instructions.sh TSIM
# [--gate | --record]. Prints each beside tests/bench/instructions.txt; --gate ends with 1 when one needs over 3 % more, or when
# a million slices of a trace need 55 MB; --record writes the file. The counts are those of the compiler that the file names:
# with another one the gate says so and lets pass.
set -eu
tsim=$(realpath "$1") mode=${2:-}
cd "$(dirname "$0")/../.."
counts=tests/bench/instructions.txt limit=3
command -v valgrind >/dev/null || {
  echo "skipped: no valgrind"
  exit 0
}
compiler=$(${CC:-gcc} -dumpfullversion 2>/dev/null || echo unknown)
new=$(mktemp)
trap 'rm -f "$new"' EXIT
echo "# ${CC:-gcc} $compiler, $(uname -m)" >"$new"
worse=0

# NAME COMMAND...: what it counts now, beside what was recorded.
count() {
  local name=$1 now then
  shift
  now=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >/dev/null | sed -n 's/.*Collected : //p')
  then=$(awk -v name="$name" '$1 == name {print $2}' "$counts" 2>/dev/null || true)
  echo "$name $now" >>"$new"
  awk -v name="$name" -v now="$now" -v then="${then:-0}" -v limit=$limit 'BEGIN {
    change = then > 0 ? (now / then - 1) * 100 : 0
    printf "%-24s %12.0f instructions", name, now
    if (then > 0) printf ", %+.2f %% against %.0f", change, then
    else printf ", not recorded"
    print ((change > limit) ? "   <- more" : "")
    exit !(then > 0) || change > limit}' || worse=$((worse + 1))
}
scenario=scenarios/llama70b.yaml
count run-llama70b "$tsim" run $scenario --no-db --quiet
count check-llama70b "$tsim" check $scenario
count explain-llama70b "$tsim" explain $scenario --quiet
count run-gpt-530b "$tsim" run tests/bench/gpt-530b.yaml --no-db --quiet --ignore-memory
count run-deepseek-v3 "$tsim" run tests/bench/deepseek-v3.yaml --no-db --quiet --ignore-memory
count run-unfolded "$tsim" run tests/golden/unfolded.yaml --no-db --quiet --ignore-memory
count trace-llama70b "$tsim" run $scenario --no-db --quiet --trace /dev/null
count trace-unfolded "$tsim" run tests/bench/llama3-405b-unfolded.yaml --no-db --quiet --ignore-memory --trace /dev/null --trace-ranks all \
  --set training.global_batch_size=4096
count plan-llama70b "$tsim" plan $scenario --quiet --jobs 1
count steps-ring-64 "$tsim" collective $scenario --ranks 64 --sizes 1GiB --algorithm ring --protocol Simple \
  --set simulation.network=steps
count steps-hierarchical-256 "$tsim" collective $scenario --ranks 256 --sizes 1GiB --algorithm hierarchical \
  --set simulation.network=steps

# A trace of a million slices, of 2,048 simulated ranks.
bytes=$("$tsim" run tests/bench/llama3-405b-unfolded.yaml --no-db --quiet --ignore-memory --json --set training.global_batch_size=16384 \
  --trace /dev/null --trace-ranks all | sed -n 's/.*"peak_rss_bytes": \([0-9]*\).*/\1/p')
printf '%-24s %12d bytes at most in memory, of 55000000\n' trace-a-million-slices "$bytes"
[ "$bytes" -le 55000000 ] || worse=$((worse + 1))

if [ "$mode" = --record ]; then
  cp "$new" "$counts"
elif [ "$mode" = --gate ] && [ "$(head -n 1 "$new")" != "$(head -n 1 "$counts")" ]; then
  echo "not judged: $counts is of another compiler or machine ($(head -n 1 "$counts"))"
elif [ "$mode" = --gate ] && [ $worse -gt 0 ]; then
  echo "$worse above the limit. Where that is meant: make bench-record, and say why in the commit."
  exit 1
fi
