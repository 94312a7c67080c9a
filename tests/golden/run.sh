#!/usr/bin/env bash
# Small scenarios whose whole summary (with a goal: the decision) is kept, in four digits: tests/golden/run.sh TSIM [--update]. Each must equal NAME.expected
# (clock, memory, run number and the interval, which is of the published runs' errors, left out). After a change of the physics look at the difference (git diff) and say in
# the commit which numbers moved and why. That every byte is the same on each run is tests/determinism.sh's.
set -u
tsim=$(realpath "$1") update=${2-}
cd "$(dirname "$0")" || exit 1
passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

summary() { # SCENARIO -> summary without what differs from run to run, and the exit status
  "$tsim" run "$1" --json --no-db --quiet 2>"$work/err" >"$work/out"
  local status=$?
  sed -E '/^  "uncertainty": \{.*\}/d; /^  "uncertainty": \{$/,/^  \}/d; /"(wall_s|peak_rss_bytes|run_id|version)"/d' "$work/out" | awk -f ../support/four_digits.awk
  cat "$work/err"
  echo "exit status $status"
}

decision() { # SCENARIO -> what to buy, without what follows from the interval: ends, chances and sentences
  "$tsim" buy "$1" --json --quiet 2>"$work/err" >"$work/out"
  local status=$?
  sed -E 's/"p10": [^,]*, //g; s/, "p90": [^}]*//g; /"(chance_[a-z_]*|cost_usd|expected_cost_usd|measured_runs|similar_runs|why_not|flips|misses|version)":/d' "$work/out" |
    awk -f ../support/four_digits.awk
  cat "$work/err"
  echo "exit status $status"
}

for scenario in *.yaml; do
  name=${scenario%.yaml} what=summary
  grep -q '^goal:' "$scenario" && what=decision
  $what "$scenario" >"$work/now"
  [ "$update" = --update ] && cp "$work/now" "$name.expected"
  if diff -u "$name.expected" "$work/now" >"$work/diff"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "$name: moved"
    head -n 40 "$work/diff"
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
