/* model.h - what a model is made of: exact parameter counts and the FLOPs that the field's conventions count. */
#ifndef TSIM_WORKLOAD_MODEL_H
#define TSIM_WORKLOAD_MODEL_H

#include "config/catalogue.h"

/* Parameters by place. `layer` is one transformer layer; all are exact counts, unsharded and unpadded. */
struct tsim_parameters {
    double embedding; /* token table, and learned positions */
    double layer_attention, layer_ffn, layer_norms;
    double final_norm;
    double head; /* 0 when tied to the embedding */
};

void tsim_model_count(const struct tsim_model *model, struct tsim_parameters *parameters);
double tsim_model_layer_parameters(const struct tsim_model *model);  /* one layer, all of it */
double tsim_model_parameters(const struct tsim_model *model);        /* whole model */
double tsim_model_active_parameters(const struct tsim_model *model); /* those that one token passes through */

/* Model FLOPs of training on one token, forward and backward: 6 N + 12 L H Q T, with N the active parameters, L layers,
 * H heads, Q head dimension, T tokens attended to, the full square also for causal models
 * (Chowdhery et al. 2022, PaLM, appendix B). */
double tsim_model_flops_per_token(const struct tsim_model *model, double sequence_length);

/* The part of that which one forward pass of the layers costs (a third), without embedding and head: what full
 * recomputation executes again. And the attention core alone: what selective recomputation executes again. */
double tsim_model_layers_forward_flops_per_token(const struct tsim_model *model, double sequence_length);
double tsim_model_core_attention_forward_flops_per_token(const struct tsim_model *model, double sequence_length);

#endif
