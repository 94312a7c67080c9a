#!/usr/bin/env bash
# tests/cluster/slurm.sh TSIM - a real Slurm of one node on this machine, in a folder of its own: sweeps in 1, 2 and 7 shards,
# one of them killed and run again, and the batch script of docs/cluster.md. Part of `make check-cluster`; needs root.
set -u
tsim=$(realpath "$1") root=$(realpath "$(dirname "$0")/../..")
work=$(mktemp -d) pids=()
PATH=$PATH:/usr/sbin
stop() {
    local status=$?
    [ "$status" = 0 ] || tail -n 15 "$work"/*.log >&2
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
    for _ in $(seq 50); do kill -0 "${pids[@]}" 2>/dev/null || break; sleep 0.1; done
    for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null; done
    wait
    rm -rf "$work"
    exit "$status"
}
trap stop EXIT
cd "$work" || exit 1
. "$root/tests/cluster/common.sh"
[ "$(id -u)" = 0 ] || die "needs root to start slurmd"
for program in slurmctld slurmd srun sbatch; do needs "$program" slurm-wlm; done
needs munged munge
chmod 755 "$work"
make_study
port=$((20000 + $$ % 20000)) host=$(hostname -s)
mkdir munge state spool && chmod 755 munge
(umask 077 && head -c 1024 /dev/urandom >munge.key)
cat >slurm.conf <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=128 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
export SLURM_CONF=$work/slurm.conf
munged --foreground --force --key-file="$work/munge.key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
    --log-file="$work/munged.log" --seed-file="$work/munge/seed" >munged-out.log 2>&1 &
pids+=($!)
for _ in $(seq 50); do [ -S munge/socket ] && break; sleep 0.1; done
slurmctld -D -i >slurmctld.log 2>&1 &
pids+=($!)
slurmd -D -N "$host" >slurmd.log 2>&1 &
pids+=($!)
for _ in $(seq 100); do sinfo -h -o %T 2>/dev/null | grep -q idle && break; sleep 0.1; done
sinfo -h -o %T | grep -q idle || die "the node does not come up"

run() { timeout 100 srun --quiet "$@" </dev/null; }
for n in 1 2 7; do
    run -n "$n" tsim sweep study.yaml --db "n$n.db" --jobs 1 --quiet >/dev/null || die "srun -n $n"
    [ "$n" = 1 ] || merge_shards "$n" "n$n"
    same_table "n$n.db"
    pass "srun -n $n tsim sweep: the table of one process"
done
# shellcheck disable=SC2016 # Slurm's variable
kill_one run -n 7 --kill-on-bad-exit=0 bash -c 'bash task.sh "$SLURM_PROCID"'
run -n 7 tsim sweep study.yaml --db killed.db --jobs 1 --quiet >/dev/null || die "the rerun"
merge_shards 7 killed
same_table killed.db
pass "shard 4 of 7 killed after $kept of 14 points and run again: the same table"

# The batch script as it stands in the docs.
sed -n '/^```bash/,/^```$/p' "$root/docs/cluster.md" | sed '/^```/d' >job.sh
timeout 100 sbatch --wait --output=job.out job.sh >/dev/null || die "the batch script of docs/cluster.md: $(cat job.out)"
merge_shards 16 study
same_table study.db
pass "the batch script of docs/cluster.md"
echo "$passed passed, 0 failed"
