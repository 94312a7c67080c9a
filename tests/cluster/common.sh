# Sourced by slurm.sh and mpi.sh: the study, and the comparison with one process alone. Wants $tsim and $root.
# shellcheck shell=bash disable=SC2154
passed=0
die() {
    echo "FAIL $*"
    echo "$passed passed, 1 failed"
    exit 1
}
pass() {
    passed=$((passed + 1))
    echo "ok   $*"
}
needs() { # PROGRAM PACKAGE
    command -v "$1" >/dev/null || die "no $1 (Debian: $2); 'make check-cluster' installs it"
}

# 99 points, 33 of them invalid, the others about 20 ms each: unfolded, so that a shard takes long enough to be killed in.
make_study() {
    mkdir bin && ln -s "$tsim" bin/tsim
    PATH=$PWD/bin:$PATH
    {
        sed 's/data: *[0-9]*/data: auto/' "$root/scenarios/llama70b.yaml"
        echo 'simulation: {fold: off}'
        echo 'sweep:'
        echo '  axes:'
        echo '    parallelism.tensor: [3, 4, 8]'
        echo '    parallelism.pipeline: [2, 4, 8]'
        echo "    simulation.seed: [$(seq -s, 1 11)]"
    } >study.yaml
    tsim sweep study.yaml --no-db --quiet --csv --shard 1/1 >whole.csv || die "the sweep fails in one process"
    [ "$(grep -c ',ok,' whole.csv)" = 66 ] || die "the study is not what this test takes it for"
}
# Nothing is computed anew: every point is found in DB.
same_table() { # DB
    tsim sweep study.yaml --db "$1" --quiet --csv --shard 1/1 | cmp - whole.csv || die "$1 differs from one process's table"
}
merge_shards() { # N STEM
    local shards=("$2".shard-*-of-"$1".db)
    [ ${#shards[@]} = "$1" ] || die "${#shards[@]} databases, not $1"
    tsim merge "$2.db" "${shards[@]}" >merged.txt || die "merge of $1 shards"
    grep -q "^$2.db: 99 points of 1 sweep$" merged.txt || die "merged: $(cat merged.txt)"
}

# Each of seven tasks runs this, given its number from 0 on. Number 3 is killed once its database has a point; it is
# stopped whenever it is looked at, so that it cannot finish in between.
cat >task.sh <<'TASK'
tsim sweep study.yaml --db killed.db --jobs 1 --quiet >/dev/null &
pid=$!
[ "$1" = 3 ] && while kill -STOP $pid; do
    n=$(timeout 1 tsim query 'SELECT count(*) FROM points' --db killed.shard-4-of-7.db --csv 2>/dev/null | tail -n 1)
    [ "${n:-0}" -gt 0 ] && kill -KILL $pid && break
    kill -CONT $pid
    sleep 0.02
done
wait $pid
TASK
kill_one() { # LAUNCHER... that starts the seven tasks
    "$@" >killed.txt 2>&1 && die "a task was killed and the job says that all is well"
    tsim merge part.db killed.shard-*.db >part.txt || die "merge of what is there"
    grep -q ' are missing$' part.txt || die "the killed shard had finished: $(cat part.txt)"
    kept=$(tsim query 'SELECT count(*) FROM points' --db killed.shard-4-of-7.db --csv | tail -n 1)
    [ "$kept" -gt 0 ] && [ "$kept" -lt 14 ] || die "the killed shard kept $kept of 14 points"
}
