#!/bin/bash
# data.sh TSIM [long] - every value in hardware/ and models/ stands beside a source, and says how good it is; every published
# run says where its measurement was read; and `TSIM check` accepts one in six of the scenarios that were measured. With
# `long` it accepts all of them, and first this tries itself on files that are wrong. Prints each offending line and exits 1.
set -u

# Catalogue files of a kind: schema and name match the place, a file-wide source for bare values, and each {value: ...} has
# a source of its own and one of the four statuses.
catalogue_files() { # KIND FILE...
    local kind=$1
    shift
    [ $# -eq 0 ] || awk -v kind="$kind" '
        function bad(line, what) { print file ":" line ": " what }
        function text(v) { sub(/^[a-z_]+:[ \t]*/, "", v); sub(/[ \t]+#.*$/, "", v); gsub(/^"|"$/, "", v); return v }
        function end_of_file() {
            if (schema != "tsim/" kind "/v1") bad(1, "schema is \"" schema "\", not tsim/" kind "/v1")
            if (name != id) bad(1, "name is \"" name "\", the file says \"" id "\"")
            if (length(source) < 10) bad(1, "no source for the values that have none of their own")
        }
        FNR == 1 {
            if (NR > 1) end_of_file()
            file = id = FILENAME
            gsub(/^.*\/|\.yaml$/, "", id)
            schema = name = source = ""
        }
        /^schema:/ { schema = text($0) }
        /^name:/ { name = text($0) }
        /^source:/ { source = text($0) }
        /\t/ { bad(FNR, "a tab") }
        /value:/ && !/^ *#/ {
            if ($0 !~ /source: "[^"]+"/) bad(FNR, "a value without a source")
            if ($0 !~ /status: (read|derived|fitted|estimate)[,}]/) bad(FNR, "a value without a status (read, derived, fitted, estimate)")
        }
        END { end_of_file() }' "$@"
}

measured_files() { # FILE...
    [ $# -eq 0 ] || awk '
        function end_of_file() {
            if (name != id) print file ":1: name is \"" name "\", the file says \"" id "\""
            if (!source) print file ":1: measured: has no source"
            if (!metrics) print file ":1: measured: has no metric"
        }
        FNR == 1 {
            if (NR > 1) end_of_file()
            file = id = FILENAME
            gsub(/^.*\/|\.yaml$/, "", id)
            name = ""
            inside = source = metrics = 0
        }
        /^name:/ { name = $2 }
        /^measured:/ { inside = 1; next }
        /^[a-z]/ { inside = 0 }
        inside && /^  source: "[^"]+"/ { source = 1; next }
        inside && /^  [a-z_]+: / { metrics++ }
        END { end_of_file() }' "$@"
}

check() {
    cd "$1" || return 1
    shopt -s nullglob
    local found
    found=$(
        catalogue_files accelerator hardware/accelerators/*.yaml hardware/families/*.yaml
        catalogue_files node hardware/nodes/*.yaml
        catalogue_files fabric hardware/fabrics/*.yaml
        catalogue_files region hardware/regions/*.yaml
        catalogue_files storage hardware/storage/*.yaml
        catalogue_files model models/architectures/*.yaml
        catalogue_files software models/software/*.yaml
        measured_files scenarios/published/*.yaml scenarios/compared/*.yaml scenarios/campaigns/*.yaml scenarios/time-to-train/*.yaml
    )
    [ -z "$found" ] && return 0
    echo "$found"
    return 1
}

expect() {
    local what=$1 pattern=$2 path=$3 content=$4 tree out
    tree=$(mktemp -d)
    mkdir -p "$tree/$(dirname "$path")"
    printf '%b' "$content" >"$tree/$path"
    if out=$(check "$tree"); then
        [ "$pattern" = clean ] || echo "data.sh, of itself: $what was not caught"
    elif [ "$pattern" = clean ] || ! grep -qF "$pattern" <<<"$out"; then
        echo "data.sh, of itself: $what: unexpected output: $out"
    fi
    rm -rf "$tree"
}

self_test() {
    local head='schema: tsim/node/v1\nname: x\nsource: "a datasheet"\n' node=hardware/nodes/x.yaml
    local run='name: r\nmeasured:\n' published=scenarios/published/r.yaml
    expect "a good node" clean $node "$head"'nics: {value: 8, source: "p. 3", status: read}\n'
    expect "a value without a source" "$node:4: a value without a source" $node "$head"'nics: {value: 8, status: read}\n'
    expect "an unknown status" 'without a status' $node "$head"'nics: {value: 8, source: "p. 3", status: sure}\n'
    expect "a file without a source" 'no source for the values' $node 'schema: tsim/node/v1\nname: x\nnics: 8\n'
    expect "a wrong name" 'the file says "x"' $node 'schema: tsim/node/v1\nname: y\nsource: "a datasheet"\n'
    expect "a wrong schema" 'not tsim/fabric/v1' hardware/fabrics/x.yaml "$head"
    expect "a good run" clean $published "$run"'  source: "table 5"\n  step_time: 1 s\n'
    expect "a run without a source" 'has no source' $published "$run"'  step_time: 1 s\n'
    expect "a run without a metric" 'has no metric' $published "$run"'  source: "table 5"\n'
}

cd "$(dirname "$0")/.." || exit 1
found=$(
    [ "${2:-}" != long ] || self_test
    (check .)
)
if [ -n "$found" ]; then
    echo "$found"
    exit 1
fi
# The software of a measured run can do what the run did.
# shellcheck disable=SC2046 # the list is of files
checked=$("$1" check scenarios/*.yaml scenarios/campaigns/*.yaml scenarios/time-to-train/*.yaml $(printf '%s\n' scenarios/{published,compared}/*.yaml |
    awk -v every="$([ "${2:-}" = long ] && echo 1 || echo 6)" 'NR % every == 0') 2>&1)
status=$?
echo "$checked"
! grep 'is simulated as if it had' <<<"$checked" || exit 1
exit $status
