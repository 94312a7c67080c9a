#!/usr/bin/env bash
# pictures.sh TSIM - docs/pictures: parts of real reports, in headless Chromium (node, playwright-core fetched by npm), and
# charts of tsim export. Needs no more than tests/browser/run.sh.
set -eu
tsim=$(realpath "$1")
cd "$(dirname "$0")/.."
root=$PWD modules=$PWD/build/browser
[ -d "$modules/node_modules/playwright-core" ] || {
    mkdir -p "$modules"
    npm install --silent --no-audit --no-fund --prefix "$modules" playwright-core@1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
scenario=$root/scenarios/llama70b.yaml
"$tsim" run "$scenario" --quiet --report run.html >/dev/null
"$tsim" sweep "$scenario" --quiet --vary parallelism.tensor=4,8 --vary parallelism.pipeline=2,4,8 --vary cluster.nodes=64,128,256 \
    --set parallelism.data=auto >/dev/null
"$tsim" scale "$scenario" --gpus 128,256,512,1024,2048,4096 --quiet >/dev/null
"$tsim" report sweep:1 --output sweep.html >/dev/null
"$tsim" report sweep:2 --output scale.html >/dev/null
printf '%s\n' 'schema: tsim/v1' "extends: $scenario" 'name: b200' 'cluster: {node: dgx-b200}' >b200.yaml
"$tsim" compare "$scenario" b200.yaml --quiet --report compare.html >/dev/null
"$tsim" plan "$scenario" --quiet --report plans.html >/dev/null
mkdir -p "$root/docs/pictures"
NODE_PATH=$modules/node_modules node "$root/tools/pictures.js" "$(command -v chromium)" "$work" "$root/docs/pictures" light \
    "run.html:Where the step goes:step" "run.html:The pipeline over time:pipeline" "run.html:Roofline of every operator:roofline" \
    "sweep.html:Heat map:heat-map" "sweep.html:Pareto front:pareto" scale.html:Scaling:scaling \
    "compare.html:From A's step to B's:waterfall" "plans.html:Where the step goes:plans"
for chart in memory schedule; do
    "$tsim" export "$scenario" --format svg --chart $chart --output "$root/docs/pictures/$chart.svg"
done
cd "$root/docs/pictures"
for file in *.png; do
    if [ "$(stat -c %s "$file")" -gt 150000 ]; then
        echo "pictures.sh: $file is over 150 kB"
        exit 1
    fi
done
ls -s --block-size=1000 .
