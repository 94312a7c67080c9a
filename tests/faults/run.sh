#!/usr/bin/env bash
# tests/faults/run.sh TSIM [HOW [COMMAND...]] - makes calls of the system, of malloc and of SQLite fail one at a time, under every
# command (see drive.c), two commands at once. HOW: one (of each kind, each time another; a few commands unless some are named),
# stacks (each way to get to a call; minutes) or all (every single call; a quarter of an hour).
set -u
tsim=$(realpath "$1") how=${2:-one} root=$(realpath "$(dirname "$0")/../..")
if ldd "$tsim" | grep -q "lib[a-z]*san" || nm "$tsim" 2>/dev/null | grep -q __gcov_; then
    echo "0 passed, 0 failed (allocations of a sanitizer or of gcov stand in the way: the plain build runs these)"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=${CC:-cc}
"$cc" -std=gnu11 -O1 -Wall -Wextra -shared -fPIC -o "$work/fail.so" "$root/tests/faults/fail.c" -ldl &&
    "$cc" -std=gnu11 -O1 -Wall -Wextra -o "$work/drive" "$root/tests/faults/drive.c" -lsqlite3 || exit 1

# The commands need a small scenario, a database with runs and a sweep, a shard, measurements.
mkdir "$work/ready"
cd "$work/ready" || exit 1
cat >small.yaml <<YAML
schema: tsim/v1
name: small
model: {extends: gpt2-small, layers: 4}
cluster: {node: dgx-h100, nodes: 4, fabric: ib-ndr}
training: {sequence_length: 1024, global_batch_size: 16, tokens: 10 G}
parallelism: {tensor: 4, pipeline: 4, zero: 1}
YAML
cat >small-measured.yaml <<YAML
extends: small.yaml
name: small-measured
measured: {source: made up, step_time: 20 ms}
YAML
cat >campaign.yaml <<YAML
extends: small.yaml
name: campaign
reliability: {node_mtbf: 50000 h, checkpoint: {interval: optimal, mode: async, bandwidth: 50 GB/s}, restart: 10 min, replications: 20}
YAML
cp "$root/docs/examples/qwen2-7b.json" config.json
cp "$root/docs/examples/megatron-llama3-8b.sh" launch.sh
cp "$root/docs/examples/nccl-h100.xml" topology.xml
cp "$root/docs/examples/nccl-tests-h100.txt" all-reduce.txt
cp "$root/docs/examples/gpt2-trace.json.gz" trace.json.gz
cp "$root/docs/examples/gpt2.yaml" .
for rank in 0 1; do cp "$root/docs/examples/gpt2.$rank.et" "step.$rank.et"; done
grep -v '^#' "$root/hardware/calibration/a100-80gb-kernels.csv" >kernels.csv
{
    "$tsim" import chakra step.0.et step.1.et --output step.yaml &&
        "$tsim" run small.yaml --db full.db &&
        "$tsim" sweep small.yaml --vary parallelism.tensor=4,8 --vary parallelism.pipeline=2,4 --db full.db &&
        "$tsim" sweep small.yaml --vary parallelism.tensor=2,8 --db other.db && cp other.db a.db
} >/dev/null || exit 1
commands=("${@:3}")
if [ ${#commands[@]} -eq 0 ]; then
    if [ "$how" = one ]; then
        commands=(run sweep-2 merge plan import-chakra export-svg)
    else
        mapfile -t commands < <("$work/drive" --commands)
    fi
fi
printf '%s\n' "${commands[@]}" |
    TSIM_FAULTS_READY=$PWD xargs -P "${JOBS:-2}" -n 1 "$work/drive" "$tsim" "$work/fail.so" "$how" | tee "$work/log"
echo "$(awk '/^(ok|FAIL) .* failures$/ {n += $(NF - 1)} END {print n + 0}' "$work/log") failures tried"
passed=$(grep -c '^ok .* failures$' "$work/log")
echo "$passed passed, $((${#commands[@]} - passed)) failed"
[ "$passed" = ${#commands[@]} ]
