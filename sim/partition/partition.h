/* partition.h - which of the model's layers and parameters a rank has, and which tokens of a micro-batch: chunks of a
 * pipeline's schedule, shares of tensor and expert ranks, shards of ZeRO. */
#ifndef TSIM_PARTITION_PARTITION_H
#define TSIM_PARTITION_PARTITION_H

#include "base/term.h"
#include "model/local_shape.h"
#include "model/model.h"
#include "partition/schedule.h"

#define TSIM_OF_LAYERS "parallelism.layers_per_stage of the scenario"

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

/* Returns the ranks that shard a parameter's state together: the sharding group, on both stages that hold the part in
 * dualpipe. */
double tsim_shards(const struct tsim_scenario *scenario);
double tsim_expert_shards(const struct tsim_scenario *scenario); /* the same for a parameter of experts */

/* Returns the number of the chunk's first layer in the model, and what a pass through the chunk goes through. */
int64_t tsim_chunk_first_layer(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
struct tsim_parts tsim_chunk_parts(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
/* Sums what a function says of a layer over the chunk's layers, or takes the largest of what it says of the model's (of
 * a layer list: of the stage's blocks, whose mean it is). */
typedef double (*tsim_layer_fn)(const struct tsim_scenario *scenario, enum tsim_part part);
double tsim_chunk_sum(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk, tsim_layer_fn of_layer);
double tsim_largest_layer(const struct tsim_scenario *scenario, int32_t stage, tsim_layer_fn of_layer);

/* Returns the parameters that one stage of one tensor rank holds, before any sharding over data-parallel ranks. */
double tsim_stage_parameters(const struct tsim_scenario *scenario, int32_t stage);
struct tsim_amount tsim_stage_parameters_recorded(struct tsim_term_recorder *recorder,
                                                  const struct tsim_scenario *scenario, int32_t stage);
double tsim_chunk_parameters(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
/* Returns the part of that which is experts. */
double tsim_stage_expert_parameters(const struct tsim_scenario *scenario, int32_t stage);
double tsim_chunk_expert_parameters(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
/* Parameters that one rank keeps a kind of state for: all of its stage, or its shard of them. */
struct tsim_held_parameters {
    struct tsim_amount all, shard;
};
struct tsim_held_parameters tsim_held_parameters(struct tsim_term_recorder *recorder,
                                                 const struct tsim_scenario *scenario, int32_t stage);
/* Returns the same of what is trained: all of it, or the adapters of a frozen model. */
struct tsim_held_parameters tsim_trained_parameters(struct tsim_term_recorder *recorder,
                                                    const struct tsim_scenario *scenario, int32_t stage);
/* Returns the parameters of a frozen tower that a chunk of one tensor rank holds; 0 if the tower is trained or there
 * are adapters. */
double tsim_chunk_tower_parameters(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
double tsim_chunk_adapter_parameters(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
/* These return the parameters of one layer on that tensor rank, those of its products, and those of its experts. */
double tsim_layer_rank_parameters(const struct tsim_scenario *scenario, enum tsim_part part);
double tsim_layer_rank_product_parameters(const struct tsim_scenario *scenario,
                                          enum tsim_part part); /* only those of products */
double tsim_layer_rank_expert_parameters(const struct tsim_scenario *scenario);

/* In fully sharded training, are weights gathered product by product (software.gather_unit)?
 * tsim_layer_product_parameters then gives what each product gathers on one tensor rank; norms, which stay whole in
 * such software, are counted with the first. */
bool tsim_gathers_products(const struct tsim_scenario *scenario);
enum tsim_part tsim_products_part(const struct tsim_model *model); /* the kind of layer that they are of */
void tsim_layer_product_parameters(const struct tsim_scenario *scenario, double parameters[TSIM_N_LAYER_PRODUCTS]);
/* In fully sharded training a unit (a layer or a product) is gathered when the unit so many places before it is done.
 * Returns that number: parallelism.prefetch + 1, or 1 where each gather is waited for. So many units are held whole at
 * a time. */
int32_t tsim_unit_places(const struct tsim_scenario *scenario);
/* Returns the same of a product, in the order that the pass goes through layer after layer. With gather_ahead it is
 * gathered when a product begins after which, up to this one, fewer parameters come (DeepSpeed,
 * stage3_prefetch_bucket_size: what comes next is fetched until it is that many), at most two layers ahead. */
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

/* Returns the bytes that a stage sends to its neighbour for a micro-batch, of all tensor ranks: activations or their
 * gradients. */
double tsim_message_bytes(const struct tsim_scenario *scenario, int32_t from, int32_t to);

#endif
