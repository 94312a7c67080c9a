/* dlrm.h - private to config: a recommendation model as it is written, and the list of layers that it becomes. */
#pragma once

#include "config/files/catalogue_keys.h"

extern const struct tsim_key tsim_dlrm_keys[]; /* a model's dense_features, bottom_mlp, top_mlp, cross, tables */
enum { TSIM_N_DLRM_KEYS = 6 };

/* The keys of a model that is a list of layers: those of every kind of model, and its own. */
enum { TSIM_MOST_LIST_KEYS = 4 + TSIM_N_DLRM_KEYS };
struct tsim_table tsim_model_list_table(struct tsim_key keys[TSIM_MOST_LIST_KEYS], bool is_dlrm);

/* Makes model->list (tables, bottom products, interaction, top products; each product ends a block) and sets the fields
 * that transformers have. Mistakes go to the reader's diags. */
void tsim_dlrm_finish(const struct tsim_checked *c, struct tsim_model *model);
