#!/usr/bin/env bash
# The accuracy table of README.md. tools/accuracy_table.sh TSIM prints it; with --write it replaces the one in README.md.
set -eu
tsim=$1
cd "$(dirname "$0")/.."

table() {
  echo '| run | metric | measured | predicted | error |'
  echo '| --- | --- | --- | --- | --- |'
  "$tsim" validate scenarios/published/*.yaml |
    awk -F'  +' 'NR == 1 || /^ *$/ {next} /^[0-9]+ values/ {print "\n" $0; next}
                 {printf "| %s | %s | %s | %s | %s |\n", $1, $2, $3, $4, $5}'
}

if [ "${2-}" = --write ]; then
  table >README.new
  awk '/^<!-- accuracy -->/ {print; while ((getline line < "README.new") > 0) print line; skip = 1; next}
       /^<!-- \/accuracy -->/ {skip = 0} !skip' README.md >README.next
  mv README.next README.md
  rm README.new
else
  table
fi
