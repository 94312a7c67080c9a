/* memory.h - the bytes that one accelerator of a pipeline stage holds at the peak of a step.
 *
 * Model state, for each parameter held:
 *   weights    at the training's precision
 *   gradients  at gradient_precision. If each layer is updated as soon as its gradient exists (per_layer_updates), only
 *              the largest layer has them (Lv et al. 2023, LOMO, arXiv:2306.09782; Zhao et al. 2024, GaLore, section
 *              4.3).
 *   master     an fp32 copy when training in 16 or 8 bits, unless master_weights is false
 *   optimizer  its state (optimizer.h)
 *
 * ZeRO stage 1 divides master copy and optimizer state by the sharding group, stage 2 also the gradients, stage 3 also
 * the weights (Rajbhandari et al. 2020).
 *
 * Activations saved for each layer and micro-batch (Korthikanti et al. 2022, arXiv:2205.05198, equations 1 to 6), with
 * s the sequence's tokens, b the micro-batch's samples, h the hidden size, a the heads, t the tensor degree, in 16 bits
 * and with dropout:
 *     sbh (10 + 24/t + 5as/(ht))   with tensor parallelism
 *     sbh (34/t + 5as/(ht))        with sequence parallelism, too
 *     without the 5as/(ht) with selective recomputation (or flash attention, which keeps a statistic per row instead);
 *     2sbh with full recomputation.
 *
 * Selective recomputation can take other parts than the attention core (scenario.h): their results are not kept. In fp8
 * the inputs of linear layers are kept in a byte, quantized (Transformer Engine), beside attention's own result, and so
 * are those of the activation function if the software does that (DeepSeek-AI 2024, section 3.3.3; Megatron's
 * activation_func_fp8_input_store). All of it follows from the same layer structure as the operators (gated or not,
 * grouped keys and values, dropout or not).
 *
 * A stage holds as many micro-batches as its schedule keeps in flight (schedule.h). If the backward pass is split, what
 * the weight gradients need stays until they are computed: inputs and output gradients of the layer's products, 32sbh
 * without tensor parallelism (Qi et al. 2023, table 1). dualpipe holds every part on two stages.
 *
 * Experts are divided over the expert ranks. Their gradients and states are sharded by the data and context ranks that
 * hold the same experts: 1 / expert of the ranks that shard everything else. A layer with experts keeps, in place of
 * the feed-forward block's tensors, the router's fp32 scores and, for each row that the slowest rank gets (routing.h),
 * the input and the inner tensors of its expert; shared experts keep theirs as a feed-forward block does.
 *
 * A decoder layer keeps for its attention to the encoder's result what self-attention keeps, with keys and values of
 * the encoder's tokens. The encoder's result itself is kept once for all decoder layers of a chunk.
 *
 * DeepSpeed's pipelines keep what a stage sent on with each micro-batch in flight, 2sbh, and update from flat tensors:
 * two buckets, and gradients joined and converted, (2 + 4) bytes for each parameter that the rank updates (memory.c).
 *
 * With offloading (training.offload), master weights and optimizer state lie in the host's memory with a copy of the
 * gradients. A share of the activations lies there, too, and two layers' worth of that share stays as buffers on the
 * way.
 *
 * Not modelled: what allocators hold in reserve beyond that (BLOOM's, by nvidia-smi: 5 % on average, most where there
 * was room). */
#pragma once

#include "model/kept.h"
#include "model/optimizer.h"
#include "partition/partition.h"

struct tsim_stage_memory {
    double weights_bytes, gradients_bytes, master_bytes, optimizer_bytes, activations_bytes, buffers_bytes;
    double total_bytes; /* the sum of the above, without the accelerator's reserve */
    double host_bytes;  /* in the host's memory, for this accelerator */
};

/* The name of the recorded term of what a layer keeps begins with this, and goes on with the word of the layer's
 * kind. */
#define TSIM_KEPT_BY_ONE "kept by one "

/* The memory of a stage comes with the term of each part. */
struct tsim_stage_terms {
    struct tsim_amount weights, gradients, master, optimizer, activations, buffers, host;
};

/* Returns the bytes that a chunk keeps of a micro-batch, wherever they are, and those among them, or beside them, that
 * its weight gradients wait for. The head's logits are not among them: they are a buffer of one micro-batch at a time. */
double tsim_chunk_activation_bytes(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
double tsim_chunk_weight_gradient_bytes(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
/* Returns the bytes that a micro-batch's pass through a chunk sends to the host and fetches again. */
double tsim_chunk_offloaded_bytes(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);

void tsim_stage_memory_recorded(struct tsim_term_recorder *recorder, const struct tsim_scenario *scenario,
                                int32_t stage, struct tsim_stage_terms *terms);
void tsim_stage_memory(const struct tsim_scenario *scenario, int32_t stage, struct tsim_stage_memory *memory);

/* Returns what stages hold of the model's state for each parameter, so that it adds up to the same however layers are
 * split over them. */
double tsim_split_state_bytes(const struct tsim_scenario *scenario, const struct tsim_stage_memory *memory);
/* Returns what an accelerator holds at least, on the mean of all stages, however layers are split over them: that state,
 * and with one chunk a stage one micro-batch of what layers keep, if that follows from their number. */
double tsim_least_mean_bytes(const struct tsim_scenario *scenario, bool has_activations);

/* Returns the bytes of a checkpoint of the whole model: weights, master weights and optimizer state of every parameter,
 * once. */
struct tsim_amount tsim_checkpoint_bytes(struct tsim_term_recorder *recorder, const struct tsim_scenario *scenario);
