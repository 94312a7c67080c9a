#!/usr/bin/env bash
# tests/faults/situations.sh TSIM [KILLS] - what the machine does to a program: a full disk, a folder that cannot be written, a
# database that another process holds, SIGINT, SIGTERM, SIGPIPE, and kill -9 at random moments of a sweep (KILLS times, 2 unless
# given). Files are whole or not there, finished points are kept, exit statuses are true.
set -u
tsim=$(realpath "$1") kills=${2:-2} root=$(realpath "$(dirname "$0")/../..")
work=$(mktemp -d)
cleanup() {
    mountpoint -q "$work/small" && umount "$work/small"
    chmod -R u+w "$work"
    rm -rf "$work"
}
trap cleanup EXIT
cd "$work" || exit 1
cp "$root"/tests/cli/{common,scenarios}/*.yaml .
passed=0 failed=0
check() { # WHAT CONDITION...
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $what"
        [ -s err ] && head -n 3 err | sed 's/^/     /'
    fi
}
ends() { # STATUS COMMAND...: the exit status, and with 5 a message
    local want=$1 got
    shift
    timeout 60 "$@" >out 2>err </dev/null
    got=$?
    [ "$got" = "$want" ] || { echo "     exit status $got, not $want: $*"; return 1; }
    [ "$want" = 0 ] || [ "$want" = 130 ] || [ -s err ] || { echo "     no message: $*"; return 1; }
}
none() { ! compgen -G "$1" >/dev/null; }
points() { timeout 20 "$tsim" query 'SELECT count(*) FROM points' --db "$1" --csv 2>/dev/null | tail -n 1; }

# ---- a full disk: a file system of 300 KB where one can be mounted, /dev/full everywhere ----
check "standard output full" ends 5 sh -c '"$0" run small.yaml --no-db >/dev/full' "$tsim"
check "--json=/dev/full" ends 5 "$tsim" run small.yaml --no-db --json=/dev/full
check "--trace /dev/full" ends 5 "$tsim" run small.yaml --no-db --trace /dev/full
mkdir small
if mount -t tmpfs -o size=300k tsim-test small 2>/dev/null; then
    echo old >small/r.html && echo old >small/t.json && head -c 260000 /dev/zero >small/filler
    check "a report on a full disk" ends 5 "$tsim" run small.yaml --no-db --report small/r.html
    check "the old report stays" grep -qx old small/r.html
    check "a trace on a full disk" ends 5 "$tsim" run small.yaml --no-db --trace small/t.json
    check "the old trace stays" grep -qx old small/t.json
    check "nothing temporary is left" none 'small/*.tmp'
    rm small/*
    seeds=$(seq -s, 1 600)
    check "a sweep on a full disk" ends 5 "$tsim" sweep mlp.yaml --vary simulation.seed="$seeds" --db small/a.db --quiet
    cp small/a.db* . && umount small
    check "what was finished is kept" [ "$(points a.db)" -gt 0 ]
    "$tsim" sweep mlp.yaml --vary simulation.seed="$seeds" --db a.db --csv --quiet >again.csv
    "$tsim" sweep mlp.yaml --vary simulation.seed="$seeds" --no-db --csv --quiet >whole.csv
    check "and the sweep goes on to the same table" cmp -s again.csv whole.csv
else
    echo "     left out: a full file system (mounting one needs root)"
fi

# ---- a folder that cannot be written; root, who can write all, becomes nobody for it ----
nobody=()
[ "$(id -u)" = 0 ] && nobody=(setpriv --reuid 65534 --clear-groups)
mkdir locked && echo old >locked/o.json && cp whole.csv locked/a.csv 2>/dev/null
"$tsim" run small.yaml --db locked/there.db --quiet >/dev/null
chmod 755 "$work" && chmod 555 locked
if "${nobody[@]}" "$tsim" check small.yaml >/dev/null 2>&1; then
    check "a database in a read-only folder" ends 5 "${nobody[@]}" "$tsim" run small.yaml --db locked/a.db
    check "a database that is read-only" ends 5 "${nobody[@]}" "$tsim" run small.yaml --db locked/there.db
    check "reading in a read-only folder" ends 0 "${nobody[@]}" "$tsim" runs --db locked/there.db
    check "which has the run" grep -q small out
    echo log >locked/there.db-wal
    check "reading beside a log that cannot be taken in" ends 5 "${nobody[@]}" "$tsim" runs --db locked/there.db
    check "which is said" grep -q 'a log of SQLite stands beside the file' err
    rm locked/there.db-wal
    check "a sweep into a read-only folder" ends 5 "${nobody[@]}" "$tsim" sweep small.yaml --vary simulation.seed=1,2 --db locked/a.db
    check "a report in a read-only folder" ends 5 "${nobody[@]}" "$tsim" run small.yaml --no-db --report locked/r.html
    check "JSON in a read-only folder" ends 5 "${nobody[@]}" "$tsim" run small.yaml --no-db --json=locked/o.json
    check "the file there stays" grep -qx old locked/o.json
else
    echo "     left out: read-only folders (nobody cannot read $work or run $tsim)"
fi

# ---- a database that another process holds ----
cat >hold.c <<'C'
#include <sqlite3.h>
#include <stdio.h>
int main(int argc, char **argv) { /* holds the database argv[1] until its standard input ends */
    sqlite3 *db;
    if (argc < 2 || sqlite3_open(argv[1], &db) != SQLITE_OK || sqlite3_exec(db, argv[2], 0, 0, 0) != SQLITE_OK)
        return 1;
    puts("held");
    fflush(stdout);
    getchar();
    return 0;
}
C
"${CC:-cc}" -o hold hold.c -lsqlite3 || exit 1
"$tsim" sweep small.yaml --vary simulation.seed=1,2 --db held.db --quiet >/dev/null
coproc HOLD { ./hold held.db 'BEGIN IMMEDIATE'; }
read -r -u "${HOLD[0]}" _
check "a run into a database that is held" ends 5 "$tsim" run small.yaml --db held.db
check "which is said" grep -q 'another program holds the database' err
check "a sweep into it" ends 5 "$tsim" sweep small.yaml --vary simulation.seed=1,2,3 --db held.db
check "reading it" ends 0 "$tsim" query points --db held.db --csv
echo >&"${HOLD[1]}"
wait
check "and once it is free" ends 0 "$tsim" sweep small.yaml --vary simulation.seed=1,2,3 --db held.db
check "two processes into one database" bash -c '
    pids=()
    for i in 1 2 3 4; do
        "$0" sweep mlp.yaml --vary simulation.seed=$(seq -s, $i 2 200) --db both.db --quiet >/dev/null &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || exit 1; done' "$tsim"

# ---- signals ----
interrupted() { # SIGNAL STATUS: while a trace is written
    local status pid
    env --default-signal=INT,PIPE,HUP "$tsim" run small.yaml --no-db --set simulation.fold=off --set cluster.nodes=512 \
        --set training.global_batch_size=65536 --trace t.json >out 2>err </dev/null &
    pid=$!
    for _ in $(seq 1000); do
        compgen -G 't.json.*.tmp' >/dev/null && break
        sleep 0.005
    done
    kill "-$1" $pid
    wait $pid 2>/dev/null
    status=$?
    [ "$status" = "$2" ] && none 't.json*' || { echo "     $1: exit status $status;" t.json*; return 1; }
}
check "SIGINT while a trace is written" interrupted INT 130
check "SIGTERM while a trace is written" interrupted TERM 130
check "SIGHUP while a trace is written" interrupted HUP 129
seeds=$(seq -s, 1 300)
"$tsim" sweep mlp.yaml --vary simulation.seed="$seeds" --db pipe.db --csv 2>err | head -n 1 >/dev/null
check "a reader that goes away" [ "${PIPESTATUS[0]}" != 0 ]
check "leaves all points in the database" [ "$(points pipe.db)" = 300 ]
check "and the database sound" ends 0 "$tsim" query best_per_gpu_count --db pipe.db

# ---- kill -9 ----
axes=(--vary simulation.seed="$(seq -s, 1 200)" --vary training.micro_batch_size=16,24,64) # 24 does not divide the batch
"$tsim" sweep mlp.yaml "${axes[@]}" --no-db --csv --quiet >whole.csv
kill_some() { # N: twice in the sweep's life, then to the end
    local at had=0 has
    rm -f killed.db*
    for _ in 1 2; do
        "$tsim" sweep mlp.yaml "${axes[@]}" --db killed.db --quiet >/dev/null 2>&1 &
        at=$((RANDOM % 100))
        sleep "0.$(printf %03d $at)"
        { kill -KILL $! && wait $!; } 2>/dev/null
        has=$(points killed.db)
        [ "${has:-0}" -ge "$had" ] || { echo "     $had points before, $has after"; return 1; }
        had=${has:-0}
    done
    "$tsim" sweep mlp.yaml "${axes[@]}" --db killed.db --csv --quiet | cmp - whole.csv
}
for i in $(seq "$kills"); do check "kill -9, number $i" kill_some; done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
