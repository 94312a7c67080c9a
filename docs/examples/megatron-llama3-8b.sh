#!/bin/bash
# Llama 3 8B on one node, as an example: build/tsim import megatron docs/examples/megatron-llama3-8b.sh
GPUS_PER_NODE=8
NNODES=${SLURM_NNODES:-1}
MODEL=(
    --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336
    --num-attention-heads 32 --group-query-attention --num-query-groups 8
    --seq-length 8192 --max-position-embeddings 8192 --position-embedding-type rope
    --normalization RMSNorm --swiglu --disable-bias-linear --untie-embeddings-and-output-weights
    --attention-dropout 0 --hidden-dropout 0
    --tokenizer-type HuggingFaceTokenizer --tokenizer-model meta-llama/Meta-Llama-3-8B
)
TRAINING=(--micro-batch-size 1 --global-batch-size 128 --train-iters 10000 --bf16 --lr 3e-4)
PARALLEL=(--tensor-model-parallel-size 2 --sequence-parallel --use-distributed-optimizer
          --overlap-grad-reduce --overlap-param-gather)
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NNODES pretrain_gpt.py ${MODEL[@]} ${TRAINING[@]} ${PARALLEL[@]}
