#!/usr/bin/env bash
# tests/gate.sh BUILD - which commands the gate of what users wait for (tests/bench/measure.c) lets pass.
set -u
cd "$(dirname "$0")/.." || exit 1
measure=$1/tests/bench/measure
passed=0 failed=0
expect() { # WHAT STATUS PATTERN ARGUMENT...: of measure
  local said status=0
  said=$("$measure" "${@:4}" 2>&1) || status=$?
  if [ "$status" = "$2" ] && grep -qE "$3" <<<"$said"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL $1: status $status, expected $2 and '$3': $said"
  fi
}
work='BEGIN {for (i = 0; i < 1e6; i++) s += i % 7}' # some 0.05 s
expect 'within its limits, and others have the processor for a while' 0 '^name .* of    10 loops, .* of   100 MB .* s\)$' name 1 100 sleep 1.1
expect 'more time than it may take' 1 'more$' name 0.001 100 awk "$work"
expect 'more memory than it may take' 1 'more$' name 2 0.1 awk "$work"
expect 'one that fails' 2 'failed: false' name 2 100 false
expect 'one that is not there' 2 'failed: ./no-such' name 2 100 ./no-such
expect 'no command' 2 '^measure NAME' name 2 100
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
