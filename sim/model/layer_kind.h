/* layer_kind.h - the kinds of layer that models are made of. A model is its layers in order, between two ends
 * (model.h); each question about a layer is asked of its kind, a row of the table in layer_kind.c. Most kinds are a
 * mixer of tokens and a feed-forward block behind it, each of which has functions of its own (operator_builders.h): a
 * new mixer is a file, and a row for each block that follows it. The other kinds have functions for the whole. */
#pragma once

#include "config/scenario.h"

/* The parts of a model stand in the order of the table: the end before the layers, the kinds of layer, the end
 * behind. */
enum tsim_part {
    TSIM_PART_EMBEDDING,
    TSIM_PART_LAYER,        /* attention and a feed-forward block */
    TSIM_PART_EXPERT_LAYER, /* attention and experts */
    TSIM_PART_WINDOW_LAYER, /* the next two: the same, with attention to the nearest tokens alone */
    TSIM_PART_WINDOW_EXPERT_LAYER,
    TSIM_PART_MAMBA_LAYER, /* the next two: the same, with a state-space recurrence in place of attention */
    TSIM_PART_MAMBA_EXPERT_LAYER,
    TSIM_PART_MAMBA1_LAYER, /* the next two: the same, with a scan in place of attention */
    TSIM_PART_MAMBA1_EXPERT_LAYER,
    TSIM_PART_SHORT_LAYER, /* the next two: the same, with a short convolution in place of attention */
    TSIM_PART_SHORT_EXPERT_LAYER,
    TSIM_PART_LIGHTNING_LAYER, /* the next two: the same, with lightning attention, which is linear */
    TSIM_PART_LIGHTNING_EXPERT_LAYER,
    TSIM_PART_BESIDE_LAYER, /* the next two: the same, with heads of Mamba-2 beside those of attention */
    TSIM_PART_BESIDE_EXPERT_LAYER,
    TSIM_PART_DELTA_LAYER, /* the next two: the same, with linear attention by the gated delta rule */
    TSIM_PART_DELTA_EXPERT_LAYER,
    TSIM_PART_SPARSE_LAYER, /* the next two: the same, with attention to the tokens that an index picks */
    TSIM_PART_SPARSE_EXPERT_LAYER,
    TSIM_PART_SEGMENT_LAYER, /* attention to the last segment as well, and a feed-forward block */
    TSIM_PART_ATTENTION,     /* from here: a mixer alone, or what follows one alone */
    TSIM_PART_WINDOW,
    TSIM_PART_MAMBA,
    TSIM_PART_MAMBA1,
    TSIM_PART_DELTA,
    TSIM_PART_SHORT,
    TSIM_PART_LIGHTNING,
    TSIM_PART_BESIDE,
    TSIM_PART_SHARED, /* a block that layers share, and Mamba-2 */
    TSIM_PART_SPARSE,
    TSIM_PART_FEED_FORWARD,
    TSIM_PART_EXPERTS,
    TSIM_PART_ENCODER_LAYER,   /* encoder-decoder model: attention both ways and a feed-forward block */
    TSIM_PART_DECODER_LAYER,   /* attention, attention to the encoder's result, and a feed-forward block */
    TSIM_PART_MODULATED_LAYER, /* diffusion transformer (layer_diffusion.c) */
    TSIM_PART_JOINT_LAYER,
    TSIM_PART_LAST_JOINT_LAYER,
    TSIM_PART_TOWER_LAYER, /* vision-language model (layer_tower.c) */
    TSIM_PART_TOWER_WINDOW_LAYER,
    TSIM_PART_PROJECTOR,
    TSIM_PART_GENERATOR_LAYER, /* a generator beside a discriminator (layer_generator.c) */
    TSIM_PART_GENERATOR_HEAD,
    TSIM_PART_LSTM, /* recurrent network (layer_recurrent.c) */
    TSIM_PART_LSTM_BOTH_WAYS,
    TSIM_PART_LSTM_WIDE,
    TSIM_PART_LSTM_ATTENTION,
    TSIM_PART_LSTM_DECODER,
    TSIM_PART_BLOCK, /* layer list: each block has shapes of its own */
    TSIM_PART_HEAD,
    TSIM_N_PARTS
};

/* A layer's products with weights, in execution order: queries, keys and values; attention's output; up; down. Experts
 * have the last two. */
enum tsim_layer_product {
    TSIM_PRODUCT_QKV,
    TSIM_PRODUCT_OUT,
    TSIM_PRODUCT_UP,
    TSIM_PRODUCT_DOWN,
    TSIM_N_LAYER_PRODUCTS,
    TSIM_NO_LAYER_PRODUCT = TSIM_N_LAYER_PRODUCTS
};

/* The parameters of one layer by place, 0 if its kind has none. They are exact counts, neither sharded nor
 * padded. */
struct tsim_layer_parameters {
    double attention; /* the matrices that tensor ranks divide */
    double latent;    /* projections down to latent vectors: whole on every tensor rank */
    double norms;
    double modulation;        /* products and tables of a diffusion transformer: whole on every tensor rank */
    double cross, cross_norm; /* attention to the encoder's result, and its norm */
    double ffn;
    double router;          /* whole on every tensor rank */
    double shared, experts; /* shared experts, and all other experts together */
    double block;           /* layer list: the mean of its blocks */
};

/* The FLOPs of one layer's forward pass for each token of the first stack, as the field's conventions count them: those
 * of its products with weights, and those of attention's core with the full square of scores. */
struct tsim_layer_flops {
    double products, core;
};

struct tsim_matrices;
struct tsim_op_list;
struct tsim_op_shape;
struct tsim_kept;

struct tsim_mixer;
struct tsim_feed_forward;
struct tsim_whole_layer;

/* A kind is either a mixer with a feed-forward block behind it, or a whole layer. */
struct tsim_layer_kind {
    const char *word; /* the word for people: "expert layer" */
    const struct tsim_mixer *mixer;
    const struct tsim_feed_forward *feed_forward;
    const struct tsim_whole_layer *whole;
    bool is_end; /* the embedding or the head, which are not among the model's layers */
};

const struct tsim_layer_kind *tsim_layer_kind(enum tsim_part part);
/* Returns the bytes of a micro-batch's earlier tokens that one tensor rank keeps in order to go on: keys and values, or
 * a state. */
double tsim_layer_cache_bytes(const struct tsim_scenario *scenario, enum tsim_part part);

/* Each returns the answer of the part's kind (operator_builders.h). */
int64_t tsim_part_variants(const struct tsim_model *model, enum tsim_part part);
void tsim_layer_forward(const struct tsim_scenario *scenario, enum tsim_part part, int64_t at,
                        struct tsim_op_list *list);
void tsim_layer_backward(const struct tsim_scenario *scenario, enum tsim_part part, int64_t at,
                         struct tsim_op_list *list);
void tsim_layer_matrices(const struct tsim_model *model, enum tsim_part part, double times,
                         struct tsim_matrices *matrices);
void tsim_layer_keep(const struct tsim_scenario *scenario, enum tsim_part part, unsigned parts, struct tsim_kept *kept);
double tsim_layer_flow_bytes(const struct tsim_scenario *scenario, enum tsim_part part);
struct tsim_op_shape tsim_layer_shape(const struct tsim_scenario *scenario, enum tsim_part part);
bool tsim_layer_has_experts(enum tsim_part part);
/* Returns whether neither the layer nor anything before it is trained. */
bool tsim_layer_is_frozen(const struct tsim_scenario *scenario, enum tsim_part part);
struct tsim_layer_parameters tsim_layer_count(const struct tsim_model *model, enum tsim_part part);
struct tsim_layer_flops tsim_layer_forward_flops(const struct tsim_model *model, enum tsim_part part,
                                                 double first_length, double last_length);
bool tsim_layer_has_graph(enum tsim_part part);
