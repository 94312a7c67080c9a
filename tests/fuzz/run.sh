#!/usr/bin/env bash
# tests/fuzz/run.sh BUILD_FOLDER SECONDS [TARGET...] - libFuzzer on each target, SECONDS each, one process. Finds go to
# BUILD_FOLDER/found, the grown corpus to BUILD_FOLDER/corpus. Words of the schemas and the catalogue are the dictionary.
set -u
build=$(realpath "$1") seconds=$2
shift 2
cd "$(dirname "$0")/../.." || exit 1
[ $# -gt 0 ] || for program in "$build"/tests/fuzz/libfuzzer_*; do
    case $program in *.o | *.d) ;; *) set -- "$@" "${program##*libfuzzer_}" ;; esac
done
mkdir -p "$build/found"
[ -w /dev/shm ] && export TMPDIR=/dev/shm
export ASAN_OPTIONS=${ASAN_OPTIONS:-quarantine_size_mb=16:malloc_context_size=6} # twice as fast, and enough to tell where
{
    grep -rhoE '"[a-z][a-z0-9_-]{1,30}"' sim/config sim/import --include="*.c" sim/base/quantity.c sim/study/search/filter.c
    for file in models/*/*.yaml hardware/*/*.yaml; do echo "\"$(basename "$file" .yaml)\""; done
    printf '"%s"\n' 'tsim/v1' ': ' '\\x0a  ' '\\x0a- ' '{' '}' '[' ']' '&a' '*a' '<<' 'auto' '1e308' '-1' '0' '9223372036854775807' '0.5' \
        ' GB/s' ' TFLOP/s' ' us' ' B' ' % ' ' T' 'extends: '
} | sort -u >"$build/words.dict"
failed=0
for target in "$@"; do
    mkdir -p "$build/corpus/$target"
    # shellcheck disable=SC2046 # a list of files
    [ -n "$(ls "$build/corpus/$target")" ] || cp --backup=numbered $(bash tests/fuzz/seeds.sh "$target") "$build/corpus/$target"
    echo "$target: $seconds s"
    (
        cd "$build/corpus" && nice -n 10 "$build/tests/fuzz/libfuzzer_$target" -max_total_time="$seconds" -timeout=30 -report_slow_units=10 -rss_limit_mb=2048 \
            -max_len=65536 -len_control=50 -dict="$build/words.dict" -artifact_prefix="$build/found/$target-" -print_final_stats=1 "$target" \
            >"$build/$target.log" 2>&1
    ) || { failed=1; echo "FAIL $target"; grep -E 'ERROR|SUMMARY|bug in tsim|Test unit' "$build/$target.log" | head -5; }
    grep -E 'number_of_executed|new_units' "$build/$target.log"
done
exit $failed
