/* model.h - what a model is made of: exact parameter counts and the FLOPs that the field's conventions count.
 *
 * A layer has attention, a feed-forward block and norms. In a mixture of experts some layers have a router, experts and
 * perhaps shared experts in place of the feed-forward block: layer l (from 0) where l >= first and
 * (l - first + 1) % every == 0.
 *
 * In a layer list (layer_list.h) a "layer" is the mean of its blocks, all of it counted as layer_ffn; a token is a
 * sample. Embedding tables (tables.h) are counted with the model, but are no part of its layers. */
#ifndef TSIM_WORKLOAD_MODEL_H
#define TSIM_WORKLOAD_MODEL_H

#include "config/catalogue.h"

/* Parameters by place, of one layer where the name says so; all are exact counts, unsharded and unpadded. */
struct tsim_parameters {
    double embedding;       /* token table or projection of patches, learned positions, and other_parameters */
    double layer_attention; /* matrices that tensor ranks divide */
    double layer_latent;    /* projections down to latent vectors: whole on every tensor rank */
    double layer_norms;
    double layer_cross, layer_cross_norm; /* of the decoder's layers: attention to the encoder's result, and its norm */
    double layer_ffn;                     /* of a layer without experts */
    double layer_router;                  /* of a layer with experts: whole on every tensor rank */
    double layer_shared, layer_experts;   /* the same: shared experts, and all others together */
    double final_norm;                    /* of both stacks */
    double head;                          /* 0 when tied to the embedding; of a model of images the classifier */
    double pooler;                        /* held with the head, whole on every tensor rank */
};

void tsim_model_count(const struct tsim_model *model, struct tsim_parameters *parameters);
double tsim_model_parameters(const struct tsim_model *model);        /* whole model */
double tsim_model_active_parameters(const struct tsim_model *model); /* those that one token passes through */
double tsim_model_mtp_parameters(const struct tsim_model *model);    /* of the former, those of its mtp_layers */

/* Layers of the second kind among layers from .. to - 1: those with experts, or of an encoder-decoder model (which has
 * no experts) those of the decoder. "Expert layer" in a name means this second kind. */
int64_t tsim_model_expert_layers(const struct tsim_model *model, int64_t from, int64_t to);

/* Gives the word that people use for a layer of the first or the second kind: "layer", "expert layer", "encoder layer",
 * "decoder layer", of a list "block". */
const char *tsim_model_layer_word(const struct tsim_model *model, bool is_second);

/* Width of a head's query and key, and of its value: head_dim, or with latent attention more for the first. */
double tsim_model_key_dim(const struct tsim_model *model);

/* Vision transformers: patches of an image, and values in one of them. */
double tsim_model_patches(const struct tsim_model *model);
double tsim_model_patch_values(const struct tsim_model *model);

/* Does the model train on samples without tokens (images, vectors, records)? Then rates are said in samples. */
bool tsim_model_is_of_samples(const struct tsim_model *model);

/* Model FLOPs of training on one token, forward and backward: 6 N + 12 L H Q T, with N the active parameters, L layers,
 * H heads, Q head dimension (the mean of the key's and the value's), T tokens attended to, the full square also for
 * causal models (Chowdhery et al. 2022, PaLM, appendix B); of a layer list tsim_list_flops_per_sample. */
double tsim_model_flops_per_token(const struct tsim_model *model, double sequence_length);

/* The same of an encoder-decoder model, on a token of the encoder: encoder and decoder layers, head and projections of
 * the encoder's result each for the tokens that pass through them; attention of the two stacks, and from one to the
 * other. */
double tsim_model_stacked_flops_per_token(const struct tsim_model *model, double encoder_length, double decoder_length);
/* Its parts: what full and what selective recomputation executes again. */
double tsim_model_stacked_layers_forward_flops_per_token(const struct tsim_model *model, double encoder_length,
                                                         double decoder_length);
double tsim_model_stacked_core_forward_flops_per_token(const struct tsim_model *model, double encoder_length,
                                                       double decoder_length);

/* The part of that which one forward pass of the layers costs (a third), without embedding and head: what full
 * recomputation executes again. And the attention core alone: what selective recomputation executes again. */
double tsim_model_layers_forward_flops_per_token(const struct tsim_model *model, double sequence_length);
double tsim_model_core_attention_forward_flops_per_token(const struct tsim_model *model, double sequence_length);

#endif
