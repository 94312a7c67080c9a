#!/usr/bin/env bash
# Every benchmark, one line a figure: tests/bench/run.sh BUILD TSIM (make bench). Timings are for comparing side by side in
# one run; multiples of a loop (tests/bench/limits.sh) also between versions and machines.
set -eu
build=$1 tsim=$2
cd "$(dirname "$0")/../.."

"$build/tests/bench/bench_engine"
"$build/tests/bench/bench_network"
"$build/tests/bench/bench_points"
"$build/tests/bench/bench_plan"
"$build/tests/bench/bench_campaign"
"$build/tests/bench/bench_serve" "$tsim"
for scenario in scenarios/llama70b.yaml tests/golden/interleaved.yaml tests/golden/unfolded.yaml tests/golden/zero3.yaml \
  tests/bench/gpt3-64-interleaved.yaml tests/bench/gpt-530b.yaml tests/bench/deepseek-v3.yaml tests/bench/llama3-405b.yaml tests/bench/llama3-405b-unfolded.yaml; do
  "$build/tests/bench/bench_run" "$scenario"
done
tests/bench/limits.sh "$build" "$tsim"
