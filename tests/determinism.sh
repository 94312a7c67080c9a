#!/usr/bin/env bash
# tests/determinism.sh TSIM OTHER... - the same bytes from every build (compilers, optimization, sanitizers), from any number of
# threads and of shards. Each OTHER is another build; JSON and database dumps are compared with those of TSIM.
set -u
tsim=$(realpath "$1") root=$(realpath "$(dirname "$0")/..")
others=()
for other in "${@:2}"; do others+=("$(realpath "$other")"); done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0 failed=0
same() { # WHAT FILE FILE
    if [ -s "$2" ] && cmp -s "$2" "$3"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $1"
        diff "$2" "$3" | head -n 5 | cut -c 1-300
    fi
}
# Leaves out what the clock and the machine say, and not the scenario.
steady() { sed -E 's/"(wall_s|peak_rss_bytes|run_id|started_at)":( ?)("[^"]*"|[0-9.e+-]+)/"\1":\20/g'; }
# Every row of every table, without clock times.
dump() { # TSIM DB
    local table
    for table in runs points sweeps; do
        "$1" query "SELECT * FROM $table ORDER BY 1, 2, 3" --db "$2" --json |
            sed -E 's/"(wall_s|peak_rss_bytes|started_at)": ("[^"]*"|[0-9.e+-]+)/"\1": 0/g'
    done
}
scenarios=("$root"/scenarios/*.yaml "$root"/tests/golden/*.yaml "$root"/scenarios/contention/*.yaml "$root"/scenarios/published/{kor,moe,titan,palm,zero}*.yaml)
axes=(--vary parallelism.tensor=2,4,8 --vary parallelism.pipeline=1,2,4 --vary parallelism.zero=1,3 --vary simulation.seed=1,2)
sweep() { # TSIM NAME OPTIONS...: NAME.json and NAME.dump
    "$1" sweep "$root/tests/cli/common/small.yaml" "${axes[@]}" --db "$2.db" --quiet --json "${@:3}" >"$2.json" || echo "FAIL sweep $2"
    dump "$tsim" "$2.db" >"$2.dump"
}
work_of() { # TSIM NAME: everything that is compared between builds
    local scenario
    for scenario in "${scenarios[@]}"; do
        "$1" run "$scenario" --db "$2.runs.db" --json --quiet 2>&1 | steady
    done >"$2.runs"
    dump "$tsim" "$2.runs.db" >"$2.runs.dump"
    sweep "$1" "$2.sweep" --jobs 2
    "$1" plan "$root/scenarios/llama70b.yaml" --vary cluster.nodes=16 --json --quiet --jobs 2 >"$2.plan"
    "$1" explain "$root/scenarios/llama70b.yaml" --json >"$2.explain"
    "$1" validate "$root"/scenarios/published/kor*.yaml --json --jobs 2 >"$2.validate"
    "$1" collective "$root/scenarios/llama70b.yaml" --sizes 1MiB:64MiB --json >"$2.collective"
    "$1" run "$root/scenarios/llama70b.yaml" --no-db --quiet --trace "$2.trace.json" >/dev/null
    campaigns "$1" "$2" 2
    traces_of_ranks "$1" "$2"
    "$1" report 1 --db "$2.runs.db" --output "$2.report" --quiet >/dev/null
    "$1" report sweep:1 --db "$2.sweep.db" --output "$2.sweep.report" --quiet >/dev/null
    steady <"$2.report" >"$2.html" && steady <"$2.sweep.report" >>"$2.html"
}
campaigns() { # TSIM NAME JOBS: whole runs with failures, drawn at random
    local scenario
    for scenario in "$root"/scenarios/campaigns/*.yaml; do
        "$1" run "$scenario" --no-db --json --quiet --jobs "$3" 2>&1 | steady
    done >"$2.campaigns"
}
traces_of_ranks() { # TSIM NAME: written, and replayed elsewhere
    "$1" export "$root/tests/cli/common/small.yaml" --format chakra --ranks 0,8 --output step --quiet >/dev/null
    cat step.0.et step.8.et step.groups.json >"$2.chakra"
    "$1" import chakra "$root"/docs/examples/gpt2.[01].et --set cluster.node=dgx-a100 --output job.yaml --quiet
    "$1" replay job.yaml --json --quiet --set kernels=roofline >"$2.replay"
    "$1" export "$root/tests/cli/common/small.yaml" --format svg --chart schedule --quiet >"$2.svg"
    "$1" explain "$root/tests/cli/common/small.yaml" mfu >"$2.term"
}
work_of "$tsim" this
i=0
for other in "${others[@]}"; do
    i=$((i + 1))
    work_of "$other" "that$i"
    for what in runs runs.dump sweep.json sweep.dump plan explain validate collective trace.json campaigns chakra replay svg term html; do
        same "$other: $what" "this.$what" "that$i.$what"
    done
done
for jobs in 1 3 8; do
    sweep "$tsim" "jobs$jobs" --jobs "$jobs"
    same "$jobs threads: sweep" this.sweep.json "jobs$jobs.json"
    same "$jobs threads: database" this.sweep.dump "jobs$jobs.dump"
    "$tsim" plan "$root/scenarios/llama70b.yaml" --vary cluster.nodes=16 --json --quiet --jobs "$jobs" >"jobs$jobs.plan"
    same "$jobs threads: plan" this.plan "jobs$jobs.plan"
    "$tsim" validate "$root"/scenarios/published/kor*.yaml --json --jobs "$jobs" >"jobs$jobs.validate"
    same "$jobs threads: validate" this.validate "jobs$jobs.validate"
    campaigns "$tsim" "jobs$jobs" "$jobs"
    same "$jobs threads: campaigns" this.campaigns "jobs$jobs.campaigns"
done
for shards in 2 5; do
    for shard in $(seq "$shards"); do
        "$tsim" sweep "$root/tests/cli/common/small.yaml" "${axes[@]}" --quiet --shard "$shard/$shards" --db "s$shards-$shard.db" >/dev/null
    done
    "$tsim" merge "s$shards.db" "s$shards"-*.db >/dev/null
    sweep "$tsim" "s$shards"
    same "$shards shards: sweep" this.sweep.json "s$shards.json"
    same "$shards shards: database" this.sweep.dump "s$shards.dump"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
