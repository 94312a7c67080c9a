#!/usr/bin/env bash
# Every benchmark, one line a figure: tests/bench/run.sh BUILD TSIM (make bench). Timings are for comparing side by side in
# one run; instruction counts, where valgrind is present, for comparing between versions.
set -eu
build=$1 tsim=$2
cd "$(dirname "$0")/../.."

"$build/tests/bench/bench_engine"
"$build/tests/bench/bench_network"
"$build/tests/bench/bench_points"
for scenario in scenarios/llama70b.yaml tests/golden/interleaved.yaml tests/golden/unfolded.yaml tests/golden/zero3.yaml; do
  "$build/tests/bench/bench_run" "$scenario"
done
if command -v valgrind >/dev/null; then
  count=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$tsim" run scenarios/llama70b.yaml --no-db --quiet \
    2>&1 >/dev/null | sed -n 's/.*Collected : //p')
  printf '%-40s %s instructions\n' 'tsim run scenarios/llama70b.yaml' "$count"
fi
