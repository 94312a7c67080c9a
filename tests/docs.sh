#!/usr/bin/env bash
# Runs every command of the ```sh blocks of docs/*.md and README.md's `build/tsim` lines, in a scratch folder that looks
# like the source tree: each must end with exit status 0 and print something. tests/docs.sh TSIM
set -u
tsim=$(realpath "$1")
cd "$(dirname "$0")/.." || exit 1
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/build"
ln -s "$tsim" "$work/build/tsim"
for folder in scenarios models hardware docs; do ln -s "$root/$folder" "$work/$folder"; done
cd "$work" || exit 1

commands() {
  awk '/^```sh$/ {inside = 1; next} /^```/ {inside = 0} inside && NF' "$root"/docs/*.md
  sed -n 's/^    \(build\/tsim .*\)$/\1/p' "$root/README.md"
}

passed=0 failed=0
while IFS= read -r command; do
  [[ $command == python3\ * ]] && ! command -v python3 >/dev/null && continue
  if output=$(bash -c "$command" 2>"$work/err" </dev/null) && { [ -n "$output" ] || [[ $command == *--quiet* ]]; }; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAIL %s\n' "$command"
    head -n 5 "$work/err"
  fi
done < <(commands)
# README's accuracy table is what this build says.
if awk '/^<!-- accuracy -->/ {inside = 1; next} /^<!-- \/accuracy -->/ {inside = 0} inside' "$root/README.md" |
  diff - <("$root/tools/accuracy_table.sh" "$tsim"); then
  passed=$((passed + 1))
else
  failed=$((failed + 1))
  echo 'FAIL the accuracy table in README.md is not what this build predicts: tools/accuracy_table.sh build/tsim --write'
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
