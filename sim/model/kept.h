/* kept.h - what a layer keeps of a micro-batch for its backward pass, tensor by tensor. */
#pragma once

#include "model/layer_kind.h"

/* The tensors have names: "queries, keys, values". */
enum { TSIM_MAX_ACTIVATIONS = 32 };
struct tsim_activation {
    const char *name;
    double bytes;
    bool is_core; /* of attention: scores and their masks, or the statistics of rows */
};
struct tsim_kept {
    struct tsim_activation rows[TSIM_MAX_ACTIVATIONS];
    int32_t n;
};

/* Returns the bytes of a micro-batch that one layer saves under the scenario's recomputation; with `whole`, those that
 * it would save without any. */
double tsim_layer_activation_bytes(const struct tsim_scenario *scenario, enum tsim_part part);
double tsim_layer_whole_activation_bytes(const struct tsim_scenario *scenario, enum tsim_part part);
/* Returns the bytes of the largest attention core among them, whole; 0 for a layer without attention. */
double tsim_layer_core_bytes(const struct tsim_scenario *scenario, enum tsim_part part);
/* Lists the same tensor by tensor; their sum is tsim_layer_activation_bytes. */
void tsim_layer_activations(const struct tsim_scenario *scenario, enum tsim_part part, struct tsim_kept *kept);

/* Returns the bytes that the weight gradients of a layer need, which stay between its input gradient and them. */
double tsim_layer_weight_gradient_bytes(const struct tsim_scenario *scenario, enum tsim_part part);
/* Returns the bytes of a layer's widest tensor inside its feed-forward block or experts, whose gradient exists while
 * the layer is worked on. */
double tsim_layer_widest_bytes(const struct tsim_scenario *scenario, enum tsim_part part);

/* ---- what kinds of layer are made of: for their rows of the table ---- */

struct tsim_op_shape;

static inline void tsim_keep(struct tsim_kept *kept, const char *name, double bytes) {
    TSIM_ASSERT(kept->n < TSIM_MAX_ACTIVATIONS);
    if (bytes > 0)
        kept->rows[kept->n++] = (struct tsim_activation){.name = name, .bytes = bytes};
}
/* Lists what an attention core keeps for its backward pass beside q, k, v and its result, unless `parts` execute it
 * again. */
void tsim_keep_core_of(const struct tsim_op_shape *shape, const char *name, unsigned parts, struct tsim_kept *kept);

/* These list what is kept, without what `parts` execute again: by attention up to its result (with the inputs of norms
 * and blocks and the masks of the whole layer), by a feed-forward block of inner width `width` (inner tensors alone),
 * and by the attention core. */
void tsim_keep_attention(const struct tsim_op_shape *shape, unsigned parts, struct tsim_kept *kept);
void tsim_keep_ffn(const struct tsim_op_shape *shape, const char *name, double width, unsigned parts,
                   struct tsim_kept *kept);
void tsim_keep_core(const struct tsim_op_shape *shape, unsigned parts, struct tsim_kept *kept);
/* Returns the bytes that are kept for each element of a feed-forward block's inner width. */
double tsim_inner_kept_bytes(const struct tsim_op_shape *shape, unsigned parts);
/* Lists what checkpointing by operator keeps: the layer's input, attention's result, and every second product's
 * result. */
void tsim_keep_operators(const struct tsim_op_shape *shape, struct tsim_kept *kept);
/* These return the elements that are kept until the weight gradients are computed: those of attention, and those of a
 * feed-forward block of this width (0: its input alone). */
double tsim_attention_waiting(const struct tsim_op_shape *shape);
double tsim_ffn_waiting(const struct tsim_op_shape *shape, double width);
/* Returns the bytes of the first products' results in a feed-forward block of a layer's width, for all tokens. */
double tsim_ffn_widest_bytes(const struct tsim_op_shape *shape);
/* Returns the rows that the experts of a rank get in a layer, from the tokens of all ranks that share them. */
double tsim_expert_rows(const struct tsim_op_shape *shape);
