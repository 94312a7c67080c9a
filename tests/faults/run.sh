#!/usr/bin/env bash
# tests/faults/run.sh TSIM [MOST [COMMAND]] - makes calls of the system, of malloc and of SQLite fail one at a time, under every
# command (see drive.c). MOST failures of each kind (1 unless given, each time another); 0: every single one, which takes a while.
set -u
tsim=$(realpath "$1") most=${2:-1} root=$(realpath "$(dirname "$0")/../..")
if ldd "$tsim" | grep -q "lib[a-z]*san" || nm "$tsim" 2>/dev/null | grep -q __gcov_; then
    echo "0 passed, 0 failed (allocations of a sanitizer or of gcov stand in the way: the plain build runs these)"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=${CC:-cc}
"$cc" -std=gnu11 -O1 -Wall -Wextra -shared -fPIC -o "$work/fail.so" "$root/tests/faults/fail.c" -ldl &&
    "$cc" -std=gnu11 -O1 -Wall -Wextra -o "$work/drive" "$root/tests/faults/drive.c" -lsqlite3 || exit 1

# What the commands need: a small scenario, a database with runs and a sweep, a shard, measurements.
mkdir "$work/ready"
cd "$work/ready" || exit 1
cp "$root"/tests/cli/common/*.yaml .
cat >small-measured.yaml <<YAML
extends: small.yaml
name: small-measured
measured: {source: made up, step_time: 20 s}
YAML
cp "$root/docs/examples/qwen2-7b.json" config.json
sed "/^#/d" "$root/hardware/calibration/a100-80gb-kernels.csv" >kernels.csv
{
    "$tsim" run small.yaml --db full.db &&
        "$tsim" sweep small.yaml --vary parallelism.tensor=4,8 --vary parallelism.pipeline=2,4 --db full.db &&
        "$tsim" sweep small.yaml --vary parallelism.tensor=2,8 --db other.db
} >/dev/null || exit 1
TSIM_FAULTS_READY=$PWD "$work/drive" "$tsim" "$work/fail.so" "$most" ${3:+"$3"}
