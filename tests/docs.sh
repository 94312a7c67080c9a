#!/usr/bin/env bash
# Runs the commands of the ```sh blocks of docs/*.md, README.md's `build/tsim` lines, and those in the comments at the beginning of
# scenarios, in a scratch folder that looks like the source tree: each must end with exit status 0 and print something, or write a file. tests/docs.sh TSIM [all]
# Without `all`, what takes long (what to buy in the whole catalogue, the large searches of docs/questions.md, campaigns of many failures,
# all published runs once more) and the comparison of the answers are left to `make check`; a model of seconds has eight layers,
# and llama70b.yaml a quarter of its layers where the command does not look at its stages.
set -u
tsim=$(realpath "$1") part=${2:-small}
large='buy --|buy .*purchase|simulation.steps=20|-16k-h100.yaml$|54-days.yaml$|deepseek-v3-h100-1024|resnet50-nvme.*prefetch|validate scenarios/compared|--replan|scenarios/questions/(nvlink-8-or-72|which-precision|h100-or-b200|which-gpu)|preemption: |400g-or-100g.*batch_size|which-cluster.*rent|torchtitan.*--json|local: |buy-or-rent.yaml --report|spot-campaign|roce-400$|docs/examples/cheapest|repair=.12 h.* --vary|validate scenarios/published( |$)|tutorial/which-cluster|studies/llama70b-which-plan|llama405b-stages|400g-or-100g|quote-a-or-b.*sensitivity|measured.mfu=|network=steps|node=dgx-h100,dgx-a100 --report'
deep='^build/tsim (buy |plan |compare .*sensitivity|run .*(link: accelerator|variability|batch_ramp|training.evaluation|spares=optimal))[^|&]*$'
shallow='^build/tsim (run|explain|export|sweep) scenarios/llama70b.yaml( |$)' stages='pipeline|schedule|layers|model|parts|[|&]'
cd "$(dirname "$0")/.." || exit 1
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/build"
ln -s "$tsim" "$work/build/tsim"
for folder in scenarios models hardware docs tools tests; do ln -s "$root/$folder" "$work/$folder"; done
cd "$work" || exit 1

commands() {
  { # each once
    awk '/^```sh$/ {inside = 1; next} /^```/ {inside = 0} inside && NF' "$root"/docs/*.md
    sed -n 's/^    \(build\/tsim .*\)$/\1/p' "$root/README.md"
    sed -n 's/^#   \(build\/tsim .*\)$/\1/p' "$root"/scenarios/*.yaml "$root"/scenarios/{examples,tutorial,questions}/*.yaml
  } | awk '!seen[$0]++'
}

passed=0 failed=0
while IFS= read -r command; do
  [[ $part != all && $command =~ $large ]] && continue
  [[ $part != all && $command =~ $deep ]] && command+=' --set model.layers=8'
  [[ $part != all && $command =~ $shallow && ! $command =~ $stages ]] && command+=' --set model.layers=20'
  [[ $command == python3\ * ]] && ! command -v python3 >/dev/null && continue
  if output=$(bash -c "$command" 2>"$work/err" </dev/null) && { [ -n "$output" ] || [[ $command == *--quiet* || $command == *--output* ]]; }; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAIL %s\n' "$command"
    head -n 5 "$work/err"
  fi
done < <(commands)
# Blocks of ```console test: each "$ COMMAND" must print the lines that follow it; a line "..." stands for any lines.
matches() { # EXPECTED ACTUAL
  awk -v expected="$1" 'function fails(why) {print "expected: " why; bad = 1; exit 1}
    BEGIN {n = split(expected, e, "\n"); at = 1}
    {if (e[at] == "...") {if (at < n && $0 == e[at + 1]) at += 2}
     else if (at > n || $0 != e[at]) fails(e[at] "\nfound: " $0)
     else at++}
    END {if (!bad && at <= n && !(at == n && (e[n] == "..." || e[n] == ""))) fails(e[at])}' <<<"$2"
}
run_block_command() { # COMMAND EXPECTED
  local output
  output=$(bash -c "$1" 2>"$work/err" </dev/null)
  if matches "$2" "$output" >"$work/difference"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAIL %s\n' "$1"
    head -n 5 "$work/difference" "$work/err"
  fi
}
ln -sf "$tsim" "$work/build/tsim"
command= expected=
while IFS= read -r line; do
  case $line in
  '$ '* | END)
    [ -n "$command" ] && run_block_command "$command" "$expected"
    command=${line#'$ '} expected=
    [ "$line" = END ] && command=
    ;;
  *) expected=$expected${expected:+$'\n'}$line ;;
  esac
done < <(awk '/^```console test$/ {inside = 1; next} /^```/ {if (inside) print "END"; inside = 0} inside' "$root"/docs/*.md)
# Each line of README's sample of output is one that the command prints.
"$tsim" run "$root/scenarios/llama70b.yaml" --no-db >run.txt 2>&1
if awk '/^```text/ {inside = 1; next} /^```/ {inside = 0} inside' "$root/README.md" >sample.txt && [ "$(wc -l <sample.txt)" -ge 8 ] &&
  ! grep -vxFf run.txt sample.txt; then
  passed=$((passed + 1))
else
  failed=$((failed + 1))
  echo 'FAIL lines of the sample of output in README.md that tsim run scenarios/llama70b.yaml does not print'
fi
# So are the answers in docs/questions.md.
if [ "$part" = all ] && command -v python3 >/dev/null; then
  if (cd "$root" && python3 tools/questions.py "$tsim"); then passed=$((passed + 1)); else failed=$((failed + 1)) && echo 'FAIL docs/questions.md'; fi
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
