#!/usr/bin/env bash
# shellcheck disable=SC2016 # what stand-ins expand
# tests/runner.sh - what tests/run.sh makes of tests that pass, fail, say nothing and are killed, in a tree of stand-ins.
set -u
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
stand_in() { # FILE COMMANDS
  mkdir -p "$(dirname "$work/$1")"
  printf '#!/bin/sh\n%s\n' "$2" >"$work/$1"
  chmod +x "$work/$1"
}
program() { # NAME COMMANDS: a test's program, and its source
  stand_in "build/tests/$1" "$2"
  mkdir -p "$work/tests/${1%/*}"
  : >"$work/tests/$1.c"
}
expect() { # WHAT STATUS PATTERN [PART]: of a run of the tree
  local status=0
  TSIM_TEST_JOBS=3 bash "$work/tests/run.sh" build ./tsim "${4:-}" >"$work/said" 2>&1 || status=$?
  if [ "$status" = "$2" ] && grep -q -- "$3" "$work/said"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL $1: status $status, expected $2 and '$3'"
    sed 's/^/    /' "$work/said"
  fi
}
mkdir "$work/tests"
cp tests/run.sh "$work/tests"
for script in $(sed -n '/^scripts=/,/^# The longest/p' tests/run.sh | grep -oE '[a-z_/]+\.(sh|py)'); do
  stand_in "tests/$script" 'echo "2 passed, 0 failed"'
done
stand_in tests/fuzz/seeds.sh 'echo seed'
program unit/test_sound 'echo "100%: Checks: 1, Failures: 0, Errors: 0"'
stand_in build/tests/unit/test_sound.o 'exit 1' # no program
program property/test_silent ''
stand_in build/tests/fuzz/replay_reader '[ "$1" = seed ]'
stand_in build/tests/unit/test_renamed 'exit 1' # whose source is gone
expect 'all pass' 0 '^[0-9]* passed, 0 failed$'
n=$(sed -n 's/ passed, 0 failed$//p' "$work/said" | tail -n 1)
expect 'what a program says' 0 '^ok    unit/test_sound  100%: Checks: 1'
expect 'a program that says nothing' 0 '^ok    property/test_silent'
expect 'what a script says' 0 '^ok    setup_packages.sh  2 passed, 0 failed$'
expect 'code: no scripts of texts' 0 '^11 passed, 0 failed$' code
units='balance chakra hf_config import_recipes scenario schedule_zero_bubble'
for test in $units; do program unit/test_$test '[ "$TSIM_CASES" = 2000 ]'; done
long='advice_kept catalogue_random decision_random every_key input_random launch_files laws_random periods_random plan_random plan_uncached proposals network_random step_random'
for test in $long; do program "property/test_$test" '[ "$TSIM_CASES" = 2000 ]'; done
for script in accuracy data install layers serve/run widths; do stand_in "tests/$script.sh" '[ "$2" = long ]'; done
stand_in tests/cli/run.sh '[ "$2" = --long ]'
expect 'long: whole tests, many cases' 0 '^29 passed, 0 failed$' long
for test in $units; do rm "$work/build/tests/unit/test_$test"; done
for test in $long; do rm "$work/build/tests/property/test_$test"; done
for script in accuracy data install layers serve/run widths cli/run; do stand_in "tests/$script.sh" ''; done
stand_in tests/setup_packages.sh 'for i in 1 2 3; do echo "because $i"; sleep 0.1; done; exit 1'
stand_in tests/data.sh 'for i in 1 2 3; do echo "as well $i"; sleep 0.1; done; exit 2'
expect 'two that fail' 1 "^$((n - 2)) passed, 2 failed\$"
expect 'what they said, in one piece' 1 '^FAIL  setup_packages.sh$'
[ "$(grep -A 3 '^FAIL  setup_packages.sh$' "$work/said" | tail -n 3)" = "$(printf '      because %d\n' 1 2 3)" ] || {
  failed=$((failed + 1))
  echo 'FAIL pieces of other tests stand in what a test said'
}
stand_in tests/setup_packages.sh 'kill -KILL $$'
stand_in tests/data.sh ''
expect 'one that is killed' 1 '^FAIL  setup_packages.sh$'
stand_in tests/data.sh 'kill -KILL $PPID'
expect 'one that takes its runner with it' 1 '^FAIL  data.sh: was killed'
rm "$work/tests/setup_packages.sh"
stand_in tests/data.sh ''
expect 'one that is not there' 1 '^FAIL  setup_packages.sh$'
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
