/* recognize.h - which hardware of the catalogue it is that a file of others speaks of, and the fabric that a node usually
 * hangs on. */
#ifndef TSIM_CONFIG_RECOGNIZE_H
#define TSIM_CONFIG_RECOGNIZE_H

#include "config/catalogue_load.h"
#include "config/known_as.h"

/* The catalogue's accelerators that say what they are known as: those with a node of their own first, then the usual
 * ones, then by id. TSIM_ERR_IO without a catalogue, and mistakes of its files. */
enum tsim_status tsim_known_accelerators(struct tsim_arena *arena, const struct tsim_accelerator *const **accelerators,
                                         size_t *n, struct tsim_diags *diags);

/* The one with a node whose name stands in the text, in letters of any size ("NVIDIA H100 80GB HBM3"); the longest name
 * counts ("gb200" before "b200"). NULL: none. */
enum tsim_status tsim_accelerator_named(struct tsim_arena *arena, const char *text,
                                        const struct tsim_accelerator **accelerator, struct tsim_diags *diags);

/* The fabric that the node's file names, else InfiniBand as fast as its NICs; NULL: the node has no NICs. */
const char *tsim_usual_fabric(const struct tsim_node *node);

#endif
