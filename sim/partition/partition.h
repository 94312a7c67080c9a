/* partition.h - the model's layers and parameters that a rank has, and the tokens of a micro-batch: chunks of a
 * pipeline's schedule, shares of tensor and expert ranks, shards of ZeRO. */
#pragma once

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
/* These return whether the chunk holds the model's first part, with the embedding, or its last, with the head. */
bool tsim_chunk_has_embedding(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
/* Returns whether one of the stage's chunks does. */
bool tsim_stage_has_embedding(const struct tsim_scenario *scenario, int32_t stage);
bool tsim_stage_has_head(const struct tsim_scenario *scenario, int32_t stage);
/* Returns whether the chunk is like the stage's chunk before it: as many layers, all of one kind, and neither end of
 * the model. Most chunks are. */
bool tsim_chunk_is_like_last(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
/* Returns whether the stage holds in each chunk what the stage before holds there, in a schedule in which later stages
 * keep no more micro-batches than earlier ones. Such a stage does not need more memory. */
bool tsim_stage_is_like_last(const struct tsim_scenario *scenario, int32_t stage);
bool tsim_chunk_has_head(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
/* Returns whether one stage holds both ends. It then holds a tied table once. */
bool tsim_ends_share_stage(const struct tsim_scenario *scenario);
/* Returns whether two stages hold the table of embeddings, and sum its gradients: it is tied, or further tokens are looked
 * up behind the layers. */
bool tsim_shares_table(const struct tsim_scenario *scenario);

/* Returns the number of ranks that shard a parameter's state together: the sharding group, in dualpipe on both stages
 * that hold the part. */
double tsim_shards(const struct tsim_scenario *scenario);
double tsim_expert_shards(const struct tsim_scenario *scenario); /* the same for a parameter of experts */

/* These return the number of the chunk's first layer in the model, and the parts that a pass through the chunk goes
 * through. */
int64_t tsim_chunk_first_layer(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
struct tsim_parts tsim_chunk_parts(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
/* Returns those of a chunk's layers, `parts` from `first` on, that keep what they computed because {layers: N} executes
 * only the first N again; none with another recomputation. */
struct tsim_parts tsim_kept_layers(const struct tsim_scenario *scenario, const struct tsim_parts *parts, int64_t first);
/* The first sums a layer's figure over the chunk's layers. The second returns the largest over the kinds of layer in
 * the model (in a layer list, over the stage's blocks, of whose mean it is). */
typedef double (*tsim_layer_fn)(const struct tsim_scenario *scenario, enum tsim_part part);
double tsim_chunk_sum(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk, tsim_layer_fn of_layer);
double tsim_largest_layer(const struct tsim_scenario *scenario, int32_t stage, tsim_layer_fn of_layer);

/* Returns the parameters that one stage of one tensor rank holds, before any sharding over data-parallel ranks. */
double tsim_stage_parameters(const struct tsim_scenario *scenario, int32_t stage);
struct tsim_amount tsim_stage_parameters_recorded(struct tsim_term_recorder *recorder,
                                                  const struct tsim_scenario *scenario, int32_t stage);
double tsim_chunk_parameters(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
/* Returns those of them that belong to experts. */
double tsim_stage_expert_parameters(const struct tsim_scenario *scenario, int32_t stage);
double tsim_chunk_expert_parameters(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
/* The parameters of which one rank keeps a kind of state: all of its stage, or its shard of them. */
struct tsim_held_parameters {
    struct tsim_amount all, shard;
};
struct tsim_held_parameters tsim_held_parameters(struct tsim_term_recorder *recorder,
                                                 const struct tsim_scenario *scenario, int32_t stage);
/* Returns those that are trained: all of them, or the adapters of a frozen model. */
struct tsim_held_parameters tsim_trained_parameters(struct tsim_term_recorder *recorder,
                                                    const struct tsim_scenario *scenario, int32_t stage);
/* Returns the parameters of a frozen tower that a chunk of one tensor rank holds; 0 if the tower is trained or there
 * are adapters. */
double tsim_chunk_tower_parameters(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
double tsim_chunk_adapter_parameters(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
double tsim_chunk_routed_adapter_parameters(const struct tsim_scenario *scenario, int32_t stage, int32_t chunk);
/* These return the parameters of one layer on that tensor rank, those of its products, and those of its experts. */
double tsim_layer_rank_parameters(const struct tsim_scenario *scenario, enum tsim_part part);
double tsim_layer_rank_product_parameters(const struct tsim_scenario *scenario,
                                          enum tsim_part part); /* those of products alone */
double tsim_layer_rank_expert_parameters(const struct tsim_scenario *scenario);

/* Returns whether fully sharded training gathers weights product by product (software.gather_unit).
 * tsim_layer_product_parameters then gives what each product gathers on one tensor rank; norms, which stay whole in
 * such software, count with the first product. */
bool tsim_gathers_products(const struct tsim_scenario *scenario);
enum tsim_part tsim_products_part(const struct tsim_model *model); /* the kind of layer to which the products belong */
void tsim_layer_product_parameters(const struct tsim_scenario *scenario, double parameters[TSIM_N_LAYER_PRODUCTS]);
/* In fully sharded training a unit (a layer or a product) is gathered when the unit that is this many places before it
 * is done. Returns the number: parallelism.prefetch + 1, or 1 if each gather is waited for. So many units are held
 * whole at a time. */
int32_t tsim_unit_places(const struct tsim_scenario *scenario);
/* Returns the same for a product, in the order in which the pass goes through the products of layer after layer. With
 * gather_ahead the number grows while the products in between have fewer parameters than that (DeepSpeed,
 * stage3_prefetch_bucket_size: it fetches what comes next until it is that many), up to two layers. */
enum { TSIM_MOST_PLACES = 2 * TSIM_N_LAYER_PRODUCTS };
int32_t tsim_layer_product_places(const struct tsim_scenario *scenario, enum tsim_layer_product product,
                                  bool is_backward);

/* A stage by itself. If a layer list is cut into the stages of a pipeline, it is a scenario (in `part`) whose model is
 * the stage's blocks, to be used for questions about layers and not about stages. Else it is the scenario itself, whose
 * layers are all alike. */
struct tsim_stage_part {
    struct tsim_model model;
    struct tsim_scenario scenario;
};
const struct tsim_scenario *tsim_stage_part(const struct tsim_scenario *scenario, int32_t stage,
                                            struct tsim_stage_part *part);

/* Returns the bytes that a stage sends to its neighbour for a micro-batch, over all tensor ranks: activations or their
 * gradients. */
double tsim_message_bytes(const struct tsim_scenario *scenario, int32_t from, int32_t to);
