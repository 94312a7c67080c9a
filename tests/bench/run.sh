#!/usr/bin/env bash
# Every benchmark, one line a figure: tests/bench/run.sh BUILD TSIM (make bench). Timings are for comparing side by side in
# one run; instruction counts, where valgrind is present, for comparing between versions: tests/bench/instructions.txt
# holds those of the last that were recorded (make bench-record).
set -eu
build=$1 tsim=$2 record=${3:-}
cd "$(dirname "$0")/../.."

"$build/tests/bench/bench_engine"
"$build/tests/bench/bench_network"
"$build/tests/bench/bench_points"
"$build/tests/bench/bench_plan"
"$build/tests/bench/bench_campaign"
for scenario in scenarios/llama70b.yaml tests/golden/interleaved.yaml tests/golden/unfolded.yaml tests/golden/zero3.yaml \
  tests/bench/gpt3-64-interleaved.yaml tests/bench/gpt-530b.yaml tests/bench/deepseek-v3.yaml tests/bench/llama3-405b.yaml tests/bench/llama3-405b-unfolded.yaml; do
  "$build/tests/bench/bench_run" "$scenario"
done
command -v valgrind >/dev/null || exit 0

counts=tests/bench/instructions.txt
new=$(mktemp)
trap 'rm -f "$new"' EXIT
# NAME COMMAND...: what it counts now, beside what was recorded.
count() {
  local name=$1 now then
  shift
  now=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >/dev/null | sed -n 's/.*Collected : //p')
  then=$(awk -v name="$name" '$1 == name {print $2}' "$counts" 2>/dev/null || true)
  echo "$name $now" >>"$new"
  awk -v name="$name" -v now="$now" -v then="$then" 'BEGIN {
    printf "%-34s %12.0f instructions", name, now
    if (then > 0) printf ", %+.2f %% against %.0f", (now / then - 1) * 100, then
    print "" }'
}
count run-llama70b "$tsim" run scenarios/llama70b.yaml --no-db --quiet
count check-llama70b "$tsim" check scenarios/llama70b.yaml
count run-gpt-530b "$tsim" run tests/bench/gpt-530b.yaml --no-db --quiet --ignore-memory
count steps-ring-64 "$tsim" collective scenarios/llama70b.yaml --ranks 64 --sizes 1GiB --algorithm ring --protocol Simple \
  --set simulation.network=steps
count steps-hierarchical-256 "$tsim" collective scenarios/llama70b.yaml --ranks 256 --sizes 1GiB \
  --algorithm hierarchical --set simulation.network=steps
if [ "$record" = --record ]; then cp "$new" "$counts"; fi
