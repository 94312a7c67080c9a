/* model.h - the content of a model: exact parameter counts, and the FLOPs that the field's conventions count.
 *
 * A layer has attention, a feed-forward block and norms. In a mixture of experts some layers have a router, experts and
 * perhaps shared experts in place of the feed-forward block: layer l (from 0) with l >= first and (l - first + 1) %
 * every == 0. With a pattern, layer l is what the pattern says of its layer l modulo the pattern's length; if that says
 * nothing of experts, the rule above holds.
 *
 * In a layer list (layer_list.h) a "layer" is the mean of its blocks, all of it counted as `block`; a token is a
 * sample. Embedding tables (tables.h) count with the model, but belong to no layer. */
#pragma once

#include "base/term.h"
#include "model/layer_kind.h"

/* The parameters beside those of the layers, as exact counts; 0 in a layer list. */
struct tsim_end_parameters {
    double
        embedding; /* token table or projection of patches, learned positions, other_parameters, blocks that layers share */
    double final_norm; /* of all stacks */
    double head;       /* 0 if it is tied to the embedding; the classifier of a model of images */
    double pooler;     /* held with the head, whole on every tensor rank */
    /* The modules that predict further tokens are held with the head: their products of the hidden state and the
     * embedding, which tensor ranks divide, and norms. Their layers are among the model's; table and head are shared. */
    double further, further_norms;
};
struct tsim_end_parameters tsim_diffusion_ends(const struct tsim_model *model); /* layer_diffusion.c */
double tsim_diffusion_end_flops(const struct tsim_model *model, double length); /* of a token in the forward pass */
/* These return those of the blocks that layers share, and of their products alone; 0 without them. */
double tsim_shared_parameters(const struct tsim_model *model);
double tsim_shared_products(const struct tsim_model *model);
struct tsim_end_parameters tsim_model_ends(const struct tsim_model *model);
/* It counts the product of the tower's patches. tsim_tower_parameters includes it. */
double tsim_tower_embedding_parameters(const struct tsim_model *model);
double tsim_tower_parameters(const struct tsim_model *model); /* with the former, without the projector */
double tsim_tower_tokens(const struct tsim_model *model);     /* tokens of a sample's images, in the tower */

struct tsim_amount tsim_model_parameters_recorded(struct tsim_term_recorder *recorder, const struct tsim_model *model);
struct tsim_amount tsim_model_active_parameters_recorded(struct tsim_term_recorder *recorder,
                                                         const struct tsim_model *model);
double tsim_model_parameters(const struct tsim_model *model);        /* of the whole model */
double tsim_model_active_parameters(const struct tsim_model *model); /* those that one token passes through */
/* It counts the modules that predict further tokens, which tsim_model_parameters includes. */
double tsim_model_mtp_parameters(const struct tsim_model *model);

/* This counts how often each part exists, or how often a pass goes through it. */
struct tsim_parts {
    double times[TSIM_N_PARTS];
};
struct tsim_parts tsim_model_parts(const struct tsim_model *model);
/* It counts the layers from .. to - 1. */
struct tsim_parts tsim_model_layers(const struct tsim_model *model, int64_t from, int64_t to);
/* Returns the kind of a layer. Only here do the keys of a model become kinds of layer. */
enum tsim_part tsim_model_layer(const struct tsim_model *model, int64_t layer);
bool tsim_model_has_ends(const struct tsim_model *model); /* false for a layer list, which is blocks alone */
bool tsim_model_has_one_kind(const struct tsim_model *model);
/* Returns whether layers of one kind differ (blocks of a list). A layer's cost is then their mean, and a pass's
 * operators are those of all of them together. */
bool tsim_model_layers_vary(const struct tsim_model *model);
bool tsim_model_layers_are_alike(const struct tsim_model *model);

/* Returns a word for the model's architecture, by which errors of predictions are told apart: "dense", "experts",
 * "hybrid", "encoder", "cnn". */
const char *tsim_model_family(const struct tsim_model *model);

/* Returns whether the model trains on samples without tokens (images, vectors, records), so that its rates are in
 * samples. */
bool tsim_model_is_of_samples(const struct tsim_model *model);

/* Returns the model FLOPs of training on one token of the first stack, forward and backward, given the lengths of the
 * stacks in tokens (the same twice, if there is one stack).
 *
 * One stack has 6 N + 12 L H Q T, with N the active parameters, L layers, H heads, Q the head dimension (the mean of
 * the key's and the value's) and T the tokens attended to: the full square also for causal models (Chowdhery et al.
 * 2022, PaLM, appendix B), and a layer's window if that is shorter. Two stacks have encoder layers, decoder layers,
 * head and projections of the encoder's result, each for the tokens that pass through them, and attention of the two
 * stacks and from one to the other. A layer list has tsim_list_flops_per_sample. */
struct tsim_amount tsim_model_flops_recorded(struct tsim_term_recorder *recorder, const struct tsim_model *model,
                                             struct tsim_amount first_length, double last_length);
/* Returns the FLOPs of a frozen model, whose weights have no gradients, with `trained` parameters beside them: 4 for
 * each frozen parameter and 6 for each trained one. */
struct tsim_amount tsim_frozen_model_flops_recorded(struct tsim_term_recorder *recorder, const struct tsim_model *model,
                                                    struct tsim_amount length, double trained);
double tsim_model_flops_per_token(const struct tsim_model *model, double first_length, double last_length);

/* Returns the FLOPs of one forward pass of the layers, without embedding and head: a third of the layers' part above.
 * Full recomputation executes all of it again, selective recomputation the core. It is not for layer lists, which are
 * never recomputed. */
struct tsim_layer_flops tsim_model_forward_flops_per_token(const struct tsim_model *model, double first_length,
                                                           double last_length);
