#!/usr/bin/env bash
# tests/gate.sh - what the gate of instruction counts (tests/bench/instructions.sh) lets pass, with a stand-in for valgrind that
# says how many there were.
set -u
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/tests/bench"
cp tests/bench/instructions.sh "$work/tests/bench"
printf '#!/bin/sh\necho "==1== Collected : $COUNTED" >&2\n' >"$work/bin/valgrind"
printf '#!/bin/sh\necho "\\"peak_rss_bytes\\": $BYTES,"\n' >"$work/bin/tsim"
chmod +x "$work/bin/valgrind" "$work/bin/tsim"
export PATH="$work/bin:$PATH" COUNTED BYTES=1000000
passed=0 failed=0
expect() { # WHAT STATUS COUNTED MODE
  local status=0
  COUNTED=$3
  bash "$work/tests/bench/instructions.sh" "$work/bin/tsim" "$4" >"$work/said" 2>&1 || status=$?
  if [ "$status" = "$2" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL $1: status $status, expected $2"
    cat "$work/said"
  fi
}
expect 'recorded' 0 1000000 --record
expect 'as many' 0 1000000 --gate
expect 'fewer' 0 900000 --gate
expect 'not quite 3 % more' 0 1029999 --gate
expect 'a little more than 3 %' 1 1030001 --gate
BYTES=55000001 expect 'more memory than a trace may take' 1 1000000 --gate
sed -i '$d' "$work/tests/bench/instructions.txt"
expect 'one that was not recorded' 1 1000000 --gate
sed -i '1s/.*/# another compiler/' "$work/tests/bench/instructions.txt"
expect 'counts of another compiler are not judged' 0 2000000 --gate
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
