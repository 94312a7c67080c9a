#!/usr/bin/env bash
# Users wait for these commands, and each may take so long: tests/bench/limits.sh BUILD TSIM. The seconds are the processor's on the reference
# machine, one core of 2025; tests/bench/measure.c makes of them multiples of a loop that it runs beside each command, so that
# neither another machine nor a busy one decides. Ends with 1 when a command goes over.
set -u
measure=$1/tests/bench/measure tsim=$2
cd "$(dirname "$0")/../.." || exit 1
over=0

limit() { # NAME SECONDS MEGABYTES ARGUMENT...
  "$measure" "$1" "$2" "$3" "$tsim" "${@:4}" --quiet || over=$((over + 1))
}
bench=tests/bench
limit run 0.1 100 run scenarios/llama70b.yaml --no-db
limit slow-accelerator 0.3 100 run scenarios/llama70b.yaml --no-db \
  --set 'cluster.degraded=[{link: accelerator, node: 3, index: 5, rate: 0.8}]'
limit plan 1 100 plan scenarios/llama70b.yaml --jobs 1
limit plan-405b 2 100 plan $bench/llama3-405b.yaml --jobs 1
# The whole catalogue of machines, each with its plans and prices.
limit buy 5 200 buy --model llama3-70b --tokens 15T --deadline '90 days' --budget '20 M USD' --jobs 1
limit buy-405b 5 200 buy --model llama3-405b --tokens 15T --deadline '90 days' --budget '200 M USD' --jobs 1
limit buy-mixtral 4 250 buy --model mixtral-8x22b --tokens 15T --deadline '90 days' --budget '200 M USD' --jobs 1
# A sixth of its time the layers of plans are split that do not fit.
limit buy-deepseek-v3 7 250 buy --model deepseek-v3 --tokens 15T --deadline '90 days' --budget '200 M USD' --jobs 1
# Its layers differ, so that each plan's are balanced.
limit buy-hybrid 9 200 buy --model nemotron-h-8b --tokens 1T --deadline '90 days' --budget '20 M USD' --jobs 1
limit validate-published 10 1400 validate scenarios/published
limit messages-of-a-ring-of-4096 6 100 collective scenarios/llama70b.yaml --set cluster.nodes=512 --ranks 4096 --sizes 1GiB \
  --algorithm ring --protocol Simple --set simulation.network=steps
limit 530b-on-35-stages 1 100 run $bench/gpt-530b.yaml --no-db --ignore-memory
# A whole group of micro-batches repeats, through eight chunks on each of 16 stages.
limit 405b-on-128-chunks 0.6 100 run scenarios/published/bridge-405b-gb200-256-nvfp4-2604.yaml --no-db
limit 405b-on-16384 0.3 100 run $bench/llama3-405b.yaml --no-db --ignore-memory
limit 405b-on-16384-unfolded 20 2000 run $bench/llama3-405b-unfolded.yaml --no-db --ignore-memory
limit 405b-on-102400-unfolded 30 1000 run $bench/llama3-405b-102400.yaml --no-db --ignore-memory
# A trace is written as it goes: a million slices, of 2,048 simulated ranks. Pass by pass, since of operators it has a window.
limit trace-of-a-million-slices 4 105 run $bench/llama3-405b-unfolded.yaml --no-db --ignore-memory \
  --set training.global_batch_size=16384 --set simulation.detail=passes --trace /dev/null --trace-ranks all
# Two thousand runs over HTTP, each of another scenario: a millisecond of a processor each, of client, server and processes together,
# is two thousand a second on two cores.
"$measure" serve-2000-runs 2 200 "$1/tests/bench/bench_serve" "$tsim" 2000 || over=$((over + 1))
[ $over = 0 ] || echo "$over over the limit"
[ $over = 0 ]
