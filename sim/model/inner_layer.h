/* inner_layer.h - private to the kinds of layer: a layer of another network beside the model (a vision tower, a
 * generator), which is attention by a mixer and a dense feed-forward block. The scenarios here are those of that
 * network. */
#pragma once

#include "model/kept.h"
#include "model/operator_builders.h"

void tsim_inner_forward(const struct tsim_mixer *mixer, const struct tsim_scenario *own, struct tsim_op_list *list);
void tsim_inner_backward(const struct tsim_mixer *mixer, const struct tsim_scenario *own, struct tsim_op_list *list);
void tsim_inner_keep(const struct tsim_mixer *mixer, const struct tsim_scenario *own, unsigned parts,
                     struct tsim_kept *kept);
void tsim_inner_count(const struct tsim_mixer *mixer, const struct tsim_model *network,
                      struct tsim_layer_parameters *parameters);
struct tsim_layer_flops tsim_inner_flops(const struct tsim_mixer *mixer, const struct tsim_model *network,
                                         double length);
void tsim_inner_matrices(const struct tsim_mixer *mixer, const struct tsim_model *network, double times,
                         struct tsim_matrices *matrices);
double tsim_inner_waiting_bytes(const struct tsim_mixer *mixer, const struct tsim_scenario *own);
double tsim_inner_widest_bytes(const struct tsim_scenario *own);
