#!/usr/bin/env bash
# The catalogue holds what the interface promises: tests/catalogue_ids.sh TSIM. Each id is listed and can be shown, every
# accelerator is a node of its own, a scenario can be built of each node, of each fabric and of each model, and the models
# whose checkpoints or papers say so have exactly so many parameters.
set -u
tsim=$(realpath "$1")
cd "$(dirname "$0")/.." || exit 1

accelerators='v100-16gb v100-32gb a100-40gb a100-80gb h100-sxm h100-pcie h200 h800 b200 gb200 l40s rtx-4090 mi250x mi300x
    tpu-v3 tpu-v4 tpu-v5p tpu-v5e trainium1 trainium2 gaudi2 gaudi3 cerebras-cs2 graphcore-gc200'
nodes='dgx-1v dgx-2 dgx-a100-40gb dgx-a100 dgx-h100 dgx-h200 dgx-b200 gb200-nvl72 tpu-v3-host tpu-v4-host tpu-v5p-host
    trn1-32xlarge trn2-48xlarge gaudi2-hls mi250x-node mi300x-node h800-node cs2 ipu-pod4 pcie-a100x8 workstation-4090
    p4de-24xlarge'
fabrics='ib-edr ib-hdr ib-ndr ib-xdr roce-100 roce-200 roce-400 efa-100 efa-400 ethernet-10 ethernet-100 slingshot-200
    tpu-v3-torus tpu-v4-torus tpu-v5p-torus'
models='mlp-mnist alexnet resnet50 bert-base bert-large gpt2-small gpt2-medium gpt2-large gpt2-xl gpt3-175b t5-11b palm-540b
    llama-7b llama-65b llama2-7b llama2-13b llama2-70b llama3-8b llama3-70b llama3-405b mixtral-8x7b deepseek-v3 dlrm vit-large'
counts='gpt2-small 124439808 gpt2-xl 1557611200 bert-base 109482240 bert-large 335141888 llama2-7b 6738415616
    llama2-70b 68976648192 llama3-8b 8030261248 llama3-70b 70553706496 llama3-405b 405853388800 mixtral-8x7b 46702792704
    resnet50 25557032 alexnet 61100840 t5-11b 11307321344 vit-large 304326632 dlrm 24036595969'

passed=0 failed=0
expect() { # KIND ID
    if grep -qx "  *$2" <<<"$listed" && "$tsim" show "$1/$2" >/dev/null; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $1/$2 is not in the catalogue"
    fi
}

every() { # KIND ID...
    local kind=$1 id listed
    shift
    listed=$("$tsim" list "${kind}s" --csv | sed '1d; s/^[^,]*,/ /')
    for id; do expect "$kind" "$id"; done
}

builds() { # NODE NODES FABRIC
    local precision=bf16 scenario out
    case $1 in dgx-1v | dgx-2 | ipu-pod4) precision=fp16 ;; esac
    scenario="{schema: tsim/v1, name: t, model: gpt2-small, cluster: {node: $1, nodes: $2, fabric: $3},
        training: {sequence_length: 1024, global_batch_size: 18432, precision: $precision}}"
    if out=$("$tsim" check - <<<"$scenario" 2>&1); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL %s nodes %s on %s\n%s\n' "$2" "$1" "$3" "$out"
    fi
}

trains() { # MODEL
    local scenario out
    scenario="{schema: tsim/v1, name: t, model: $1, cluster: {node: dgx-a100, nodes: 1},
        training: {global_batch_size: 64, micro_batch_size: 8}}"
    if out=$("$tsim" run --no-db --quiet --ignore-memory - <<<"$scenario" 2>&1); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL a scenario of %s\n%s\n' "$1" "$out"
    fi
}

counts() { # MODEL PARAMETERS...
    while [ $# -gt 0 ]; do
        if "$tsim" show "model/$1" --json | grep -qx "  \"parameters\": $2,"; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "FAIL $1 has not $2 parameters"
        fi
        shift 2
    done
}

# A test of this script: an id that nobody has is noticed.
every node no-such-node >/dev/null 2>&1
builds dgx-h100 2 tpu-v4-ring >/dev/null
trains no-such-model >/dev/null
counts gpt2-small 124439809 >/dev/null
[ "$failed" = 4 ] || { echo "catalogue_ids.sh, of itself: a missing id was not noticed"; exit 1; }
passed=0 failed=0

every accelerator $accelerators
every node $nodes
every node $(printf 'single-%s ' $accelerators)
every fabric $fabrics
every model $models
counts $counts
for model in $models; do trains "$model"; done
for node in $nodes; do
    case $node in
        cs2) builds cs2 2 swarmx ;;
        *) builds "$node" 2 ib-ndr ;;
    esac
done
for fabric in $fabrics roce-400-llama3 ib-ndr-superpod; do
    case $fabric in
        *-torus) for hosts in 2 16 64 256; do builds "${fabric%-torus}-host" $hosts "$fabric"; done ;;
        *) builds dgx-h100 32 "$fabric" ;;
    esac
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
