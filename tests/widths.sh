#!/usr/bin/env bash
# tests/widths.sh TSIM [long] - what every command prints for people fits 60 columns, with `long` also 80 and 120. Excepted: lines
# with the path of a file, which is never broken, and with it mistakes in files (FILE:LINE:COLUMN and the line of the file), which programs read, too.
set -u
tsim=$(realpath "$1")
widths=60
[ "${2:-}" != long ] || widths='60 80 120'
cd "$(dirname "$0")/.." || exit 1
root=$PWD
export TSIM_DATA=$root LC_ALL=C.UTF-8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0 failed=0
# A tenth of the layers: what is printed is as wide.
sed 's/^model: .*/model: {extends: llama2-70b, layers: 8}/' "$root/scenarios/llama70b.yaml" >s.yaml
sed "s/replications: .*/replications: 5/" "$root/tests/golden/campaign.yaml" >campaign.yaml
cp "$root/tests/cli/common/small.yaml" "$root/tests/cli/scenarios/shallow.yaml" .
cp "$root/tests/cli/common/measured.yaml" measured.yaml
cp "$root/docs/examples/gpt2-trace.json.gz" "$root/docs/examples/gpt2.yaml" .

fits() { # COMMAND...
  local columns wide
  for columns in $widths; do
    COLUMNS=$columns timeout $((60 * ${TSIM_TEST_SLOWNESS:-1})) "$tsim" "$@" >out 2>/dev/null </dev/null
    if [ ! -s out ]; then
      echo "$columns columns: tsim $*: printed nothing"
      failed=$((failed + 1))
      continue
    fi
    wide=$(grep -E "^.{$((columns + 1)),}" out | grep -vE '(\.yaml|\.json|\.gz|\.db)|https?:')
    if [ -n "$wide" ]; then
      echo "$columns columns: tsim $*"
      head -n 4 <<<"$wide"
      failed=$((failed + 1))
    else
      passed=$((passed + 1))
    fi
  done
}

fits run s.yaml --no-db
fits run campaign.yaml
fits run shallow.yaml
fits run "$root/scenarios/dlrm.yaml" --no-db
fits run s.yaml --no-db --set parallelism.tensor=1 --set parallelism.data=auto
fits explain s.yaml
widths=60 fits explain campaign.yaml # which looks for the rate of preemptions that costs as much as none: a second
for term in step.compute_s step.bubble_s mfu memory campaign.days energy uncertainty.step_time_high_s; do
  fits explain s.yaml "$term"
done
fits compare s.yaml campaign.yaml
fits compare s.yaml s.yaml --set cost.rent=2USD/h --sensitivity
fits validate measured.yaml
fits sweep s.yaml --quiet --vary parallelism.tensor=4,8 --vary parallelism.pipeline=2,4 --set parallelism.data=auto
fits plan shallow.yaml
fits plan shallow.yaml --vary cluster.nodes=4,8 --sensitivity
fits scale shallow.yaml --quiet --gpus 16,32,64
fits scale shallow.yaml --quiet --gpus 16,32 --replan
fits collective s.yaml --op all_reduce --sizes 1KiB:1GiB --ranks 64
fits runs
fits query
fits query runs
fits query points
fits query best_per_gpu_count
fits query "SELECT * FROM runs"
fits calibrate profile gpt2-trace.json.gz gpt2.yaml
fits check s.yaml
fits list
for kind in models accelerators nodes fabrics storage software regions scenarios; do fits list $kind; done
for id in model/llama2-70b model/dlrm accelerator/h100-sxm node/dgx-h100 fabric/ib-ndr software/megatron-core-2024 storage/nvme; do
  fits show $id
done
fits textbook
fits version
fits help
commands=$("$tsim" help | sed -n 's/^  \([a-z]*\) .*/\1/p')
if [ "$(wc -l <<<"$commands")" -lt 20 ]; then
  failed=$((failed + 1))
  echo "FAIL tsim help lists commands"
fi
for command in $commands; do fits help "$command"; done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
