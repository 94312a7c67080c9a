/* layer_list_keys.h - private to config: the list of layers of a CNN or MLP as it is written, and what becomes of
 * it. */
#pragma once

#include "config/keys/schema.h"

extern const struct tsim_key tsim_list_keys[]; /* a model's `input`, `list` and `discriminator` */
enum { TSIM_N_LIST_KEYS = 3 };

/* Expands the entries into model->list, one block after another, with the shapes that result. It also sets the fields
 * that transformers have: layers is the number of blocks, the others are 1 or 0. Mistakes go to the reader's diags, at
 * `mapping`'s list. */
void tsim_layer_list_finish(struct tsim_reader *reader, const struct tsim_value *mapping, const char *path,
                            struct tsim_model *model);
