#!/usr/bin/env bash
# tests/browser/run.sh TSIM - opens reports and the workbench in headless Chromium, which is used through playwright-core. Skipped where
# Chromium, node or playwright-core is missing; with TSIM_BROWSER=needed playwright-core is installed (npm, into build/browser).
set -u
tsim=$(realpath "$1")
cd "$(dirname "$0")/../.." || exit 1
root=$PWD modules=$PWD/build/browser
chromium=$(command -v chromium) && command -v node >/dev/null || {
    echo "skipped: no chromium or no node"
    exit 0
}
if [ ! -d "$modules/node_modules/playwright-core" ]; then
    if [ "${TSIM_BROWSER:-}" != needed ]; then
        echo "skipped: no playwright-core ('make check' installs it)"
        exit 0
    fi
    mkdir -p "$modules" && npm install --silent --no-audit --no-fund --prefix "$modules" playwright-core@1 || exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
"$tsim" run "$root/scenarios/llama70b.yaml" --quiet --set simulation.detail=operators --report run.html \
    --set 'description=</script><script>alert(1)</script><img src=x onerror=alert(2)>' >/dev/null &&
    "$tsim" run "$root/tests/golden/campaign.yaml" --quiet --report campaign.html >/dev/null &&
    "$tsim" sweep "$root/scenarios/llama70b.yaml" --quiet --vary parallelism.tensor=4,8 --vary parallelism.pipeline=2,4,8 \
        --vary cluster.nodes=64,128 --set parallelism.data=auto >/dev/null &&
    "$tsim" report sweep:1 --output sweep.html >/dev/null &&
    "$tsim" scale "$root/scenarios/llama70b.yaml" --quiet --gpus 256,512,1024 --report scale.html >/dev/null &&
    "$tsim" sweep "$root/scenarios/llama70b.yaml" --quiet --vary parallelism.tensor=2,8 --set parallelism.data=auto --report unfit.html >/dev/null &&
    "$tsim" plan "$root/scenarios/llama70b.yaml" --quiet --report plan.html \
        --set 'description=</script><script>alert(1)</script><img src=x onerror=alert(2)>' >/dev/null &&
    "$tsim" plan "$root/scenarios/llama70b.yaml" --quiet --vary cluster.nodes=1,64,128 --vary cluster.node=dgx-h100,dgx-a100 \
        --sensitivity --report clusters.html >/dev/null &&
    { "$tsim" plan "$root/scenarios/llama70b.yaml" --quiet --vary cluster.nodes=1 --report nothing.html >/dev/null || [ $? = 4 ]; } &&
    "$tsim" compare "$root/scenarios/llama70b.yaml" "$root/tests/golden/campaign.yaml" --quiet --report compare.html >/dev/null &&
    "$tsim" run "$root/scenarios/input/resnet50-nvme.yaml" --quiet --report images.html >/dev/null &&
    "$tsim" run "$root/scenarios/examples/grpo-8b-4-nodes.yaml" --quiet --report round.html >/dev/null &&
    "$tsim" plan "$root/scenarios/dlrm.yaml" --quiet --report recommendation.html >/dev/null || exit 1
export NODE_PATH=$modules/node_modules
node "$root/tests/browser/pages.js" "$chromium" "$work" || exit 1
"$tsim" serve --port 0 --db served.db --quiet >address &
server=$!
trap 'kill $server; rm -rf "$work"' EXIT
until [ -s address ] || ! kill -0 $server; do sleep 0.1; done
node "$root/tests/browser/workbench.js" "$chromium" "$(<address)"
