#!/usr/bin/env bash
# tests/cli/run.sh TSIM [--update] [--long] [CASE...] - what a user sees: output, messages, exit status.
#
# A case is a folder tests/cli/NAME with a file `cmd` (bash; `tsim` is the program under test), the files it needs, and
# `expected`: exit status, standard output, standard error; where a file `needs` names a command that is not here, passed over.
# Each case runs in a temporary folder of its own that holds
# its files and those of tests/cli/common; scenarios that some cases share, and take themselves, are in tests/cli/scenarios. Paths of this checkout are written as @ROOT@, predictions in JSON and CSV with four
# digits. --update writes `expected`
# anew: read the diff before committing it. A case with a file `long` takes seconds: it is left to --long, which runs these and what asks
# for TSIM_LONG, to try more of what it prints once. One line per failing case (and its diff), then 'N passed, M failed'.
# A case with a file `shallow` has 16 of the 80 layers in its small.yaml: what it shows is the same, and comes three times as fast.
# TSIM_TEST_JOBS=N: so many cases at a time (2).
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
update=0 long='' tsim='' names=()
for argument in "$@"; do
    case $argument in
    --update) update=1 ;;
    --long) long=1 ;;
    *) if [ -z "$tsim" ]; then tsim=$argument; else names+=("$argument"); fi ;;
    esac
done
: "${tsim:=$root/build/tsim}"
tsim=$(cd "$(dirname "$tsim")" && pwd)/$(basename "$tsim")
if [ ! -x "$tsim" ]; then
    echo "tests/cli/run.sh: no program at $tsim"
    exit 1
fi

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$tsim" "$work/bin/tsim"

# Leaves what happened in $work/NAME.actual.
run_case() {
    local name=$1 folder=$work/$1
    mkdir "$folder"
    cp -r "$root"/tests/cli/common/* "$root/tests/cli/$name"/* "$folder"
    [ ! -f "$folder/shallow" ] || sed -i 's/^model: .*/model: {extends: llama2-70b, layers: 16}/' "$folder/small.yaml"
    rm -f "$folder"/{cmd,expected,long,needs,shallow}
    (
        cd "$folder" || exit 125
        unset TSIM_DATA NO_COLOR COLUMNS
        export TSIM_LONG=$long
        export PATH=$work/bin:$PATH LC_ALL=C TERM=dumb TZ=UTC ROOT=$root
        timeout $((60 * ${TSIM_TEST_SLOWNESS:-1})) bash -o pipefail "$root/tests/cli/$name/cmd" >"$work/$name.out" 2>"$work/$name.err" </dev/null
    )
    local status=$?
    {
        echo "exit status $status"
        echo "--- standard output"
        cat "$work/$name.out"
        echo "--- standard error"
        cat "$work/$name.err"
    } | sed "s|$root|@ROOT@|g; s|$work|@WORK@|g" | awk -f "$root/tests/support/four_digits.awk" >"$work/$name.actual"
}

in_tier() { # FOLDER: it is run where no case is named
    if [ "$long" ]; then [ -f "$1/long" ] || grep -q TSIM_LONG "$1/cmd"; else [ ! -f "$1/long" ]; fi
}
if [ ${#names[@]} -eq 0 ]; then
    for folder in "$root"/tests/cli/*/; do
        [ -f "$folder/cmd" ] && in_tier "$folder" && folder=${folder%/} && names+=("${folder##*/}")
    done
fi

runs_here() { # NAME: what it needs is there
    local needs=$root/tests/cli/$1/needs
    [ ! -f "$needs" ] || command -v "$(cat "$needs")" >/dev/null
}
mapfile -t names < <(for name in "${names[@]}"; do runs_here "$name" && echo "$name"; done)
export -f run_case
export root work long
printf '%s\n' "${names[@]}" | xargs -P "${TSIM_TEST_JOBS:-2}" -I{} bash -uc 'run_case "$1"' _ {}

passed=0 failed=0
for name in "${names[@]}"; do
    expected=$root/tests/cli/$name/expected
    [ $update = 1 ] && cp "$work/$name.actual" "$expected"
    if difference=$(diff -u --label expected --label actual "$expected" "$work/$name.actual" 2>&1); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $name"
        sed 's/^/    /' <<<"$difference"
    fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt 0 ]
