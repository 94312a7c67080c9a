#!/usr/bin/env bash
# Runs every test of a tier: tests/run.sh BUILD_FOLDER TSIM [code]. Prints a line per program and 'N passed, M failed' at the end.
# With `code` those alone that another compiler or a sanitizer can make a difference to: nothing about texts, pages, installing.
# TSIM_TEST_SLOWNESS=N: each test may take N times as long (programs that count their branches do).
set -u
build=$1 tsim=$2 part=${3:-all}
unset COLUMNS # a width that tests do not expect
cd "$(dirname "$0")/.." || exit 1
passed=0 failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

one() { # NAME COMMAND...
  local name=$1
  shift
  if "$@" >"$log" 2>&1; then
    passed=$((passed + 1))
    printf 'ok    %s  %s\n' "$name" "$(grep -E '^[0-9]+%: Checks|passed, [0-9]+ failed' "$log" | tail -n 1)"
  else
    failed=$((failed + 1))
    printf 'FAIL  %s\n' "$name"
    tail -n 60 "$log" | sed 's/^/      /'
  fi
}

[ "$part" = code ] || one layers bash tests/layers.sh
for program in "$build"/tests/unit/test_* "$build"/tests/property/test_*; do
  case $program in *.o | *.d | *.gc?? | *'*') continue ;; esac
  one "${program#"$build"/tests/}" env CK_VERBOSITY=normal CK_DEFAULT_TIMEOUT=60 CK_TIMEOUT_MULTIPLIER="${TSIM_TEST_SLOWNESS:-1}" "$program"
done
for program in "$build"/tests/fuzz/replay_*; do
  case $program in *.o | *.d | *.gc?? | *'*') continue ;; esac
  target=${program##*/replay_}
  # shellcheck disable=SC2046 # a list of files
  one "fuzz/$target" "$program" $(bash tests/fuzz/seeds.sh "$target")
done
scripts=(tests/cli/run.sh tests/golden/run.sh tests/textbook_docs.sh tests/catalogue_ids.sh tests/faults/situations.sh tests/accuracy.sh)
[ "$part" = code ] || scripts+=(tests/widths.sh tests/data.sh tests/docs.sh tests/reference_keys.sh tests/hardware_docs.sh tests/faults/run.sh
  tests/install.sh tests/make.sh tests/gate.sh tests/setup_packages.sh tests/browser/run.sh)
for script in "${scripts[@]}"; do
  one "${script#tests/}" bash "$script" "$tsim"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
