#!/usr/bin/env bash
# Small scenarios whose whole summary is kept: tests/golden/run.sh TSIM [--update]. Each runs twice: the bytes must be the
# same (clock, memory, run number and interval left out) and equal NAME.expected. After a change of the physics look at the
# difference (git diff) and say in the commit which numbers moved and why.
set -u
tsim=$(realpath "$1") update=${2-}
cd "$(dirname "$0")" || exit 1
passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

summary() { # SCENARIO -> summary without what differs from run to run, and the exit status
  "$tsim" run "$1" --json --no-db --quiet 2>"$work/err" >"$work/out"
  local status=$?
  grep -vE '"(wall_s|peak_rss_bytes|run_id|version|uncertainty)"' "$work/out"
  cat "$work/err"
  echo "exit status $status"
}

for scenario in *.yaml; do
  name=${scenario%.yaml}
  summary "$scenario" >"$work/first"
  summary "$scenario" >"$work/second"
  if ! cmp -s "$work/first" "$work/second"; then
    failed=$((failed + 1))
    echo "$name: two runs differ"
    diff "$work/first" "$work/second"
  elif [ "$update" = --update ]; then
    cp "$work/first" "$name.expected"
    passed=$((passed + 1))
  elif ! diff -u "$name.expected" "$work/first" >"$work/diff"; then
    failed=$((failed + 1))
    echo "$name: moved"
    head -n 40 "$work/diff"
  else
    passed=$((passed + 1))
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
