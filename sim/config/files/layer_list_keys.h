/* layer_list_keys.h - private to config: the list of layers of a CNN or MLP as it is written, and what becomes of
 * it. */
#pragma once

#include "config/files/catalogue_keys.h"

extern const struct tsim_key tsim_list_keys[]; /* a model's `input`, `list` and `discriminator` */
enum { TSIM_N_LIST_KEYS = 3 };

/* Expands the entries into model->list, one block after another, with the shapes that result. It also sets the fields
 * that transformers have: layers is the number of blocks, the others are 1 or 0. Mistakes go to the reader's diags, at
 * the mapping's list. */
void tsim_layer_list_finish(const struct tsim_checked *c, struct tsim_model *model);
