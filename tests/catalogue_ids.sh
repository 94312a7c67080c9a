#!/usr/bin/env bash
# The catalogue holds the hardware that the interface promises: tests/catalogue_ids.sh TSIM. Each id is listed and can be
# shown, every accelerator is a node of its own, and a scenario can be built of each node and of each fabric.
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
    listed=$("$tsim" list "${kind}s" | sed 's/^ */ /')
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

# Of itself: an id that nobody has is noticed.
every node no-such-node >/dev/null 2>&1
builds dgx-h100 2 tpu-v4-ring >/dev/null
[ "$failed" = 2 ] || { echo "catalogue_ids.sh, of itself: a missing id was not noticed"; exit 1; }
passed=0 failed=0

every accelerator $accelerators
every node $nodes
every node $(printf 'single-%s ' $accelerators)
every fabric $fabrics
for node in $nodes; do builds "$node" 2 ib-ndr; done
for fabric in $fabrics roce-400-llama3 ib-ndr-superpod; do
    case $fabric in
        *-torus) for hosts in 2 16 64 256; do builds "${fabric%-torus}-host" $hosts "$fabric"; done ;;
        *) builds dgx-h100 32 "$fabric" ;;
    esac
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
