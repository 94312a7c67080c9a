/* model.h - what a model is made of: exact parameter counts and the FLOPs that the field's conventions count.
 *
 * A layer has attention, a feed-forward block and norms. In a mixture of experts some layers have a router, experts and
 * perhaps shared experts in place of the feed-forward block: layer l (from 0) where l >= first and
 * (l - first + 1) % every == 0. With a pattern, layer l is what the pattern's layer l modulo its length says; where it
 * says nothing of experts, they are as above.
 *
 * In a layer list (layer_list.h) a "layer" is the mean of its blocks, all of it counted as `block`; a token is a
 * sample. Embedding tables (tables.h) are counted with the model, but are no part of its layers. */
#ifndef TSIM_MODEL_MODEL_H
#define TSIM_MODEL_MODEL_H

#include "base/term.h"
#include "model/layer_kind.h"

/* Parameters beside those of the layers, exact counts as well; 0 in a layer list. */
struct tsim_end_parameters {
    double embedding;  /* token table or projection of patches, learned positions, and other_parameters */
    double final_norm; /* of both stacks */
    double head;       /* 0 when tied to the embedding; of a model of images the classifier */
    double pooler;     /* held with the head, whole on every tensor rank */
};
struct tsim_end_parameters tsim_diffusion_ends(const struct tsim_model *model); /* layer_diffusion.c */
double tsim_diffusion_end_flops(const struct tsim_model *model, double length); /* forward, of a token */
struct tsim_end_parameters tsim_model_ends(const struct tsim_model *model);
double
tsim_tower_embedding_parameters(const struct tsim_model *model); /* of the product of its patches; among the former */
double tsim_tower_parameters(const struct tsim_model *model);    /* with them, without the projector */
double tsim_tower_tokens(const struct tsim_model *model);        /* of a sample's images, in the tower */

struct tsim_amount tsim_model_parameters_recorded(struct tsim_term_recorder *recorder, const struct tsim_model *model);
struct tsim_amount tsim_model_active_parameters_recorded(struct tsim_term_recorder *recorder,
                                                         const struct tsim_model *model);
double tsim_model_parameters(const struct tsim_model *model);        /* whole model */
double tsim_model_active_parameters(const struct tsim_model *model); /* those that one token passes through */
double
tsim_model_mtp_parameters(const struct tsim_model *model); /* those of its mtp_layers, which are among the former */

/* Counts how often each part exists, or how often a pass goes through it. */
struct tsim_parts {
    double times[TSIM_N_PARTS];
};
struct tsim_parts tsim_model_parts(const struct tsim_model *model);
struct tsim_parts tsim_model_layers(const struct tsim_model *model, int64_t from, int64_t to); /* from .. to - 1 */
/* Here, and nowhere else, the keys of a model become kinds of layer. */
enum tsim_part tsim_model_layer(const struct tsim_model *model, int64_t layer);
bool tsim_model_has_ends(const struct tsim_model *model); /* a layer list is blocks alone */
bool tsim_model_has_one_kind(const struct tsim_model *model);
/* Are layers of one kind not alike (blocks of a list)? Then a layer's cost is their mean, and a pass's operators are
 * those of all of them together. */
bool tsim_model_layers_vary(const struct tsim_model *model);
bool tsim_model_layers_are_alike(const struct tsim_model *model);

/* Returns the model's architecture in a word, by which errors of predictions are told apart: "dense", "experts",
 * "hybrid", "encoder", "cnn". */
const char *tsim_model_family(const struct tsim_model *model);

/* Does the model train on samples without tokens (images, vectors, records)? Then rates are said in samples. */
bool tsim_model_is_of_samples(const struct tsim_model *model);

/* Returns the model FLOPs of training on one token of the first stack, forward and backward, with stacks of so many
 * tokens (the same twice, where there is one). One stack: 6 N + 12 L H Q T, with N the active parameters, L layers, H
 * heads, Q head dimension (the mean of the key's and the value's), T tokens attended to, the full square also for
 * causal models (Chowdhery et al. 2022, PaLM, appendix B), and the window, where a layer has one that is shorter. Two:
 * encoder and decoder layers, head and projections of the encoder's result each for the tokens that pass through them;
 * attention of the two stacks, and from one to the other. A layer list: tsim_list_flops_per_sample. */
struct tsim_amount tsim_model_flops_recorded(struct tsim_term_recorder *recorder, const struct tsim_model *model,
                                             struct tsim_amount first_length, double last_length);
/* Returns the FLOPs of a frozen model, whose weights have no gradients, with `trained` parameters beside them: 4 for
 * each frozen parameter and 6 for each trained one. */
struct tsim_amount tsim_frozen_model_flops_recorded(struct tsim_term_recorder *recorder, const struct tsim_model *model,
                                                    struct tsim_amount length, double trained);
double tsim_model_flops_per_token(const struct tsim_model *model, double first_length, double last_length);

/* Returns one forward pass of the layers (a third of their part of it), without embedding and head: full recomputation
 * executes all of it again, selective the core. Not of a layer list, which is never recomputed. */
struct tsim_layer_flops tsim_model_forward_flops_per_token(const struct tsim_model *model, double first_length,
                                                           double last_length);

#endif
