/* recognize.h - finds the hardware of the catalogue that a file of another program speaks of, and the fabric that a
 * node usually has. */
#ifndef TSIM_CONFIG_RECOGNIZE_H
#define TSIM_CONFIG_RECOGNIZE_H

#include "config/catalogue_load.h"
#include "config/files/known_as.h"

/* Lists the catalogue's accelerators that say what they are known as: those with a node of their own first, then the
 * usual ones, then by id. TSIM_ERR_IO without a catalogue, and mistakes of its files. */
enum tsim_status tsim_known_accelerators(struct tsim_arena *arena, const struct tsim_accelerator *const **accelerators,
                                         size_t *n, struct tsim_diags *diags);

/* Finds the accelerator, among those with a node, whose name stands in the text in letters of any size ("NVIDIA H100
 * 80GB HBM3"). The longest name wins ("gb200" before "b200"). NULL: there is none. */
enum tsim_status tsim_accelerator_named(struct tsim_arena *arena, const char *text,
                                        const struct tsim_accelerator **accelerator, struct tsim_diags *diags);

/* Finds the id of the fabric that the node's file names, else that of the fastest usual fabric that its NICs can fill;
 * NULL: the node has no NICs. */
enum tsim_status tsim_usual_fabric(struct tsim_arena *arena, const struct tsim_node *node, const char **id,
                                   struct tsim_diags *diags);

/* Finds the usual node whose accelerators are joined like this; NULL: the catalogue has none. */
enum tsim_status tsim_usual_node(struct tsim_arena *arena, enum tsim_scale_up scale_up, const struct tsim_node **node,
                                 struct tsim_diags *diags);

/* The ids that stand in where neither the user nor a file says anything. */
#define TSIM_DEFAULT_MODEL "llama2-7b"
#define TSIM_DEFAULT_NODE "dgx-h100"
#define TSIM_DEFAULT_FABRIC "ib-ndr"

#endif
