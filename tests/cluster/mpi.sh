#!/usr/bin/env bash
# tests/cluster/mpi.sh TSIM - sweeps in 1, 2 and 7 shards under a real Open MPI, one of them killed and run again.
# Part of `make check-cluster`.
set -u
tsim=$(realpath "$1") root=$(realpath "$(dirname "$0")/../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
. "$root/tests/cluster/common.sh"
needs mpirun openmpi-bin
make_study
mpi() { timeout 100 mpirun --allow-run-as-root --oversubscribe "$@" </dev/null; }
for n in 1 2 7; do
    mpi -n "$n" tsim sweep study.yaml --db "n$n.db" --jobs 1 --quiet >/dev/null || die "mpirun -n $n"
    [ "$n" = 1 ] || merge_shards "$n" "n$n"
    same_table "n$n.db"
    pass "mpirun -n $n tsim sweep: the table of one process"
done
# shellcheck disable=SC2016 # Open MPI's variable
kill_one mpi -n 7 bash -c 'bash task.sh "$OMPI_COMM_WORLD_RANK"'
mpi -n 7 tsim sweep study.yaml --db killed.db --jobs 1 --quiet >/dev/null || die "the rerun"
merge_shards 7 killed
same_table killed.db
pass "shard 4 of 7 killed after $kept of 14 points and run again: the same table"
echo "$passed passed, 0 failed"
