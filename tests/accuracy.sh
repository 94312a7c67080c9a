#!/usr/bin/env bash
# The committed residuals of the published runs are those of this program, and no source got worse by more than half a
# point: tests/accuracy.sh TSIM [long]. Prints the cases that moved. First tries the comparison on tables that differ. Without `long`
# it is one in twenty of each source's runs; with it all, and last that BLOOM's measured plans are ordered as they were measured.
set -u
tsim=$(realpath "$1") part=${2:-}
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# Prints files of a folder: of each source the first, the twenty-first and so on.
some_of() { # FOLDER
    printf '%s\n' "$1"/*.yaml | awk -F'[/-]' -v every="$([ "$part" = long ] && echo 1 || echo 20)" 'n[$3]++ % every == 0'
}
expect() { # WHAT STATUS PATTERN OUT ACTUAL_STATUS
    if [ "$2" = "$5" ] && grep -q -- "$3" <<<"$4"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL %s: exit status %s\n%s\n' "$1" "$5" "$4"
    fi
}

# A program that prints a table in place of tsim validate.
stand_in() { # AWK PROGRAM
    printf '#!/bin/sh\nexec awk -F, -v OFS=, %s hardware/calibration/residuals.csv\n' "'$1'" >"$work/tsim"
    chmod +x "$work/tsim"
    tools/residuals.sh "$work/tsim" --check 2>&1
}

out=$(stand_in 'NR > 1 && $2 == "korthikanti" {$15 *= 1.05} 1')
expect 'a source that got worse' 1 'source korthikanti got worse: mean error' "$out" $?
expect 'its cases' 1 '^  korthikanti-.*: error .* was ' "$out" 1
out=$(stand_in '$2 != "mpt" || n++')
expect 'a case that is missing' 2 'is not scored any more' "$out" $?
out=$(stand_in '1')
expect 'the same table' 0 '^$' "$out" $?
# shellcheck disable=SC2046 # the list is of files
out=$(tools/residuals.sh "$tsim" --check $(some_of scenarios/published) 2>&1)
expect 'hardware/calibration/residuals.csv is not of this program (make docs-accuracy, then the CHANGELOG)' 0 '^$' "$out" $?
out=$(diff hardware/calibration/memory.csv <(tools/residuals.sh "$tsim" --memory))
expect 'hardware/calibration/memory.csv is not of this program (make docs-accuracy)' 0 '^$' "$out" $?
out=$(awk -F, 'NR > 1 {printf "%.6f\n", $3 / $4}' hardware/calibration/memory.csv | sort -n |
    awk '{v[NR] = $1} END {printf "%.2f\n", v[int(0.9 * NR) + 1]}')
expect 'TSIM_NINE_IN_TEN_PEAKS in sim/results/verdict.h' 0 "$(sed -n 's/^#define TSIM_NINE_IN_TEN_PEAKS //p' sim/results/verdict.h)" "$out" $?
out=$(awk -F, 'NR > 1 {printf "%.6f\n", $3 / $4}' hardware/calibration/memory.csv | sort -n |
    awk '{v[NR] = $1} END {printf "%.3f\n", v[int(0.1 * NR) + 1]}')
expect 'TSIM_ONE_IN_TEN_PEAKS in sim/step/step_result.h' 0 "$(sed -n 's/^#define TSIM_ONE_IN_TEN_PEAKS //p' sim/step/step_result.h)" "$out" $?
mapfile -t compared < <(some_of scenarios/compared)
out=$(diff <(printf '%s\n' case "${compared[@]##*/}" | sed 's/\.yaml$//' | awk -F, 'FNR == NR {asked[$1] = 1; next} $1 in asked' - hardware/calibration/compared.csv) \
    <(tools/compared.py "$tsim" "${compared[@]}"))
expect 'hardware/calibration/compared.csv is not of this program (make docs-accuracy)' 0 '^$' "$out" $?
out=$(tools/accuracy_docs.sh --check)
expect 'README.md or a page of docs is not of hardware/calibration (make docs-accuracy)' 0 '^$' "$out" $?
if [ "$part" = long ]; then
    ranks=$(python3 tools/published/plans.py "$tsim" --ranks) && [ -n "$ranks" ] && grep -qF -- "$ranks" docs/plans.md
    expect "BLOOM's rank correlation is not that of docs/plans.md (make docs-accuracy)" 0 '' "$ranks" $?
    awk '{exit !($1 >= 0.9)}' <<<"${ranks#*of a GPU: }"
    expect "the rank correlation of BLOOM's runs is below 0.9" 0 '' "$ranks" $?
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
