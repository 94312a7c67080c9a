/* recognize.h - finds the catalogue's hardware that another program's file names, and the fabric that a node usually
 * has. */
#pragma once

#include "config/catalogue_load.h"
#include "config/files/known_as.h"

/* Lists the catalogue's accelerators that say what they are known as: those with a node of their own first, then the
 * usual ones, then by id. Returns TSIM_ERR_IO without a catalogue, and the mistakes of its files. */
enum tsim_status tsim_known_accelerators(struct tsim_arena *arena, const struct tsim_accelerator *const **accelerators,
                                         size_t *n, struct tsim_diags *diags);

/* Finds the accelerator, among those with a node, whose name stands in the text, whatever its case ("NVIDIA H100 80GB
 * HBM3"). The longest name wins ("gb200" before "b200"). The result is NULL if there is none. */
enum tsim_status tsim_accelerator_named(struct tsim_arena *arena, const char *text,
                                        const struct tsim_accelerator **accelerator, struct tsim_diags *diags);

/* Finds the id of the fabric that the node's file names, else that of the fastest usual fabric that its NICs can fill.
 * The result is NULL if the node has no NICs. */
enum tsim_status tsim_usual_fabric(struct tsim_arena *arena, const struct tsim_node *node, const char **id,
                                   struct tsim_diags *diags);

/* Finds the usual node whose accelerators are joined in this way. The result is NULL if the catalogue has none. */
enum tsim_status tsim_usual_node(struct tsim_arena *arena, enum tsim_scale_up scale_up, const struct tsim_node **node,
                                 struct tsim_diags *diags);

/* The ids that stand in if neither the user nor a file names one. */
#define TSIM_DEFAULT_MODEL "llama2-7b"
#define TSIM_DEFAULT_NODE "dgx-h100"
#define TSIM_DEFAULT_FABRIC "ib-ndr"
