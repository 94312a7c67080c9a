/* memory.h - bytes that one accelerator of a pipeline stage holds at the peak of a step.
 *
 * Model state, per parameter held: weights at the training precision; gradients at gradient_precision, of the largest
 * layer alone where each is updated as soon as its gradient is there (per_layer_updates: Lv et al. 2023, LOMO,
 * arXiv:2306.09782; Zhao et al. 2024, GaLore, section 4.3); an fp32 master copy when training in 16 or 8 bits, unless
 * master_weights is false; optimizer state (optimizer.h). ZeRO stage 1 divides master and optimizer state
 * by the sharding group, 2 the gradients too, 3 the weights too (Rajbhandari et al. 2020).
 *
 * Activations saved per layer and micro-batch (Korthikanti et al. 2022, arXiv:2205.05198, equations 1 to 6): with s
 * sequence, b micro-batch, h hidden, a heads, t tensor degree, 16-bit, dropout on:
 *     sbh (10 + 24/t + 5as/(ht))   tensor parallel
 *     sbh (34/t + 5as/(ht))        and sequence parallel
 *     without the 5as/(ht) with selective recomputation (or flash attention, which keeps a statistic per row instead);
 *     2sbh with full recomputation.
 * Selective recomputation can take other parts than the attention core (scenario.h): what they give is not kept. In fp8
 * the inputs of linear layers are kept in a byte, quantized (Transformer Engine), beside the attention's own result;
 * those of the activation function where the software does so (DeepSeek-AI 2024, section 3.3.3; Megatron's
 * activation_func_fp8_input_store). They come out of the same layer structure as the operators (gated or not, grouped
 * keys and values, dropout or not). A stage holds as many micro-batches as its schedule keeps in flight (schedule.h).
 * Where the backward pass is split, what the weight gradients need stays until they are computed: inputs and output
 * gradients of the layer's products, 32sbh without tensor parallelism (Qi et al. 2023, table 1). dualpipe holds every
 * part on two stages.
 *
 * Experts are divided over the expert ranks, and their gradients and states are sharded by the data and context ranks
 * that hold the same ones: 1 / expert of the ranks that shard everything else. A layer with experts keeps, in place of
 * the feed-forward block's tensors, the router's fp32 scores and, for each row that the slowest rank gets (routing.h),
 * the input and the inner tensors of its expert; shared experts keep theirs as a feed-forward block does.
 *
 * A decoder layer keeps for its attention to the encoder's result what self-attention keeps, with keys and values of
 * the encoder's tokens; the encoder's result itself is kept once for all decoder layers of a chunk.
 *
 * DeepSpeed's pipelines keep what a stage sent on with each micro-batch in flight, 2sbh, and update from flat tensors:
 * two buckets, and gradients joined and converted, (2 + 4) bytes for each parameter that the rank updates (memory.c).
 *
 * Offloaded (training.offload), master weights and optimizer state lie in the host's memory with a copy of the
 * gradients; of activations a share does, and two layers' worth of it stays as buffers on the way.
 *
 * Not modelled: what allocators hold in reserve beyond that (BLOOM's, by nvidia-smi: 5 % on average, most where there
 * was room). */
#ifndef TSIM_WORKLOAD_MEMORY_H
#define TSIM_WORKLOAD_MEMORY_H

#include "workload/operators.h"
#include "workload/schedule.h"

struct tsim_stage_memory {
    double weights_bytes, gradients_bytes, master_bytes, optimizer_bytes, activations_bytes, buffers_bytes;
    double total_bytes; /* sum of the above, without the accelerator's reserve */
    double host_bytes;  /* in the host's memory, for this accelerator */
};

/* What one stage of one tensor rank holds, before any sharding over data-parallel ranks. */
double tsim_stage_parameters(const struct tsim_scenario *scenario, int32_t stage);
double tsim_chunk_parameters(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
/* The part of that which is experts. */
double tsim_stage_expert_parameters(const struct tsim_scenario *scenario, int32_t stage);
double tsim_chunk_expert_parameters(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
/* One layer of that tensor rank, and its experts. */
double tsim_layer_rank_parameters(const struct tsim_scenario *scenario, bool has_experts);
double tsim_layer_rank_expert_parameters(const struct tsim_scenario *scenario);

/* Fully sharded, are weights gathered product by product (software.gather_unit)? Then what each gathers, of one tensor
 * rank: norms, which stay whole in such software, are counted with the first. */
bool tsim_gathers_products(const struct tsim_scenario *scenario);
void tsim_layer_product_parameters(const struct tsim_scenario *scenario, double parameters[TSIM_N_LAYER_PRODUCTS]);
/* Fully sharded, a unit (layer or product) is gathered when the one so many places before it is done: one more than
 * parallelism.prefetch, or one where each gather is waited for. So many are held whole at a time. */
int32_t tsim_unit_places(const struct tsim_scenario *scenario);
/* The same of a product, in the order that the pass goes through layer after layer. With gather_ahead it is gathered
 * when a product begins after which, up to this one, fewer parameters come (DeepSpeed, stage3_prefetch_bucket_size:
 * what comes next is fetched until it is that many), at most two layers ahead. */
enum { TSIM_MOST_PLACES = 2 * TSIM_N_LAYER_PRODUCTS };
int32_t tsim_layer_product_places(const struct tsim_scenario *scenario, enum tsim_layer_product product,
                                  bool is_backward);

/* A stage by itself: where a layer list is cut into the stages of a pipeline, the scenario with its blocks as the model
 * (in `part`; to be used with what is asked of layers, not of stages); else the scenario, whose layers are all alike.
 */
struct tsim_stage_part {
    struct tsim_model model;
    struct tsim_scenario scenario;
};
const struct tsim_scenario *tsim_stage_part(const struct tsim_scenario *scenario, int32_t stage,
                                            struct tsim_stage_part *part);

/* What a stage sends to its neighbour for a micro-batch, of all tensor ranks: activations or their gradients. */
double tsim_message_bytes(const struct tsim_scenario *scenario, int32_t from, int32_t to);

/* Saved by one layer for one micro-batch, as the scenario recomputes; the layer with everything kept (`whole`). */
double tsim_layer_activation_bytes(const struct tsim_scenario *scenario, bool has_experts);
double tsim_layer_whole_activation_bytes(const struct tsim_scenario *scenario, bool has_experts);
/* The same by tensor: returns how many; their sum is tsim_layer_activation_bytes. */
enum { TSIM_MAX_ACTIVATIONS = 16 };
struct tsim_activation {
    const char *name; /* "queries, keys, values" */
    double bytes;
};
int32_t tsim_layer_activations(const struct tsim_scenario *scenario, bool has_experts,
                               struct tsim_activation rows[TSIM_MAX_ACTIVATIONS]);
/* What of a layer the weight gradients need, between the input gradient and them. */
double tsim_layer_weight_gradient_bytes(const struct tsim_scenario *scenario, bool has_experts);

/* What a micro-batch's pass through a chunk sends to the host and fetches again; and what a step's update keeps there
 * for each parameter that a rank updates: state, master copy and gradient. */
double tsim_chunk_offloaded_bytes(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
double tsim_host_state_bytes(const struct tsim_scenario *scenario);

/* Of its buffers: buckets and flat tensors of frameworks that update from them (software.flat_bucket). */
double tsim_flat_bytes(const struct tsim_scenario *scenario, int32_t stage);
void tsim_stage_memory(const struct tsim_scenario *scenario, int32_t stage, struct tsim_stage_memory *memory);

/* Bytes of optimizer state per parameter held. */
double tsim_optimizer_state_bytes(const struct tsim_scenario *scenario);
bool tsim_has_master_weights(const struct tsim_scenario *scenario);
double tsim_weight_bytes(enum tsim_precision precision);
double tsim_gradient_bytes(const struct tsim_scenario *scenario);

struct tsim_schedule_shape tsim_scenario_schedule(const struct tsim_scenario *scenario);
static inline int64_t tsim_chunk_layers(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(scenario);
    return scenario->parallelism.layers_per_chunk[tsim_schedule_part(&shape, stage, chunk)];
}
/* Does the chunk hold the model's first part, with the embedding; its last, with the head? */
bool tsim_chunk_has_embedding(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
bool tsim_stage_has_embedding(const struct tsim_scenario *scenario, int32_t stage); /* one of its chunks does */
bool tsim_stage_has_head(const struct tsim_scenario *scenario, int32_t stage);
/* Is it like the stage's chunk before it: as many layers, all of one kind, and neither end of the model? Most are. */
bool tsim_chunk_is_like_last(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
/* Does it hold in each chunk what the stage before it holds there, in a schedule in which later stages keep no more
 * micro-batches than earlier ones? Then it does not need more memory. */
bool tsim_stage_is_like_last(const struct tsim_scenario *scenario, int32_t stage);
bool tsim_chunk_has_head(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
/* Does one stage hold both? Then it holds a tied table once. */
bool tsim_ends_share_stage(const struct tsim_scenario *scenario);

/* Ranks that shard a parameter's state together: the sharding group, on both stages that hold the part in dualpipe. */
double tsim_shards(const struct tsim_scenario *scenario);
double tsim_expert_shards(const struct tsim_scenario *scenario); /* of an expert's: those of them that hold it */

/* Number of the chunk's first layer in the model, and how many of its layers have experts. */
int64_t tsim_chunk_first_layer(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
int64_t tsim_chunk_expert_layers(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);

#endif
