#!/bin/bash
# pretrain.sh SIZE TENSOR, on $NODES nodes.
SIZE=$1
TENSOR=${2:-1}
source "$(dirname "$0")/megatron-models.sh"
MODEL=(--num-layers "$LAYERS" --hidden-size "$HIDDEN" --num-attention-heads "$HEADS")
printf -v RUN '%s-tp%d' "$SIZE" "$TENSOR"
torchrun --nnodes "$NODES" --nproc-per-node 8 pretrain_gpt.py \
    "${MODEL[@]}" --seq-length 4096 --max-position-embeddings 4096 --position-embedding-type rope \
    --micro-batch-size 1 --global-batch-size $((NODES * 64)) --bf16 --tensor-model-parallel-size "$TENSOR" \
    --use-distributed-optimizer --save "checkpoints/$RUN"
