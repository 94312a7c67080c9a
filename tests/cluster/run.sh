#!/usr/bin/env bash
# tests/cluster/run.sh TSIM - sweeps under a real Open MPI and a real Slurm on this machine. A line a test, 'N passed, M failed'
# a program. Slurm's daemons need root: without it that part is left out, and said to be.
set -u
cd "$(dirname "$0")" || exit 1
failed=0
timeout -k 10 400 ./mpi.sh "$1" || failed=1
if [ "$(id -u)" = 0 ]; then
    timeout -k 10 400 ./slurm.sh "$1" || failed=1
else
    echo "skipped: Slurm (slurmd needs root)"
fi
exit $failed
