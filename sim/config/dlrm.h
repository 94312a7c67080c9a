/* dlrm.h - private to config: a recommendation model as it is written, and the list of layers that it becomes. */
#ifndef TSIM_CONFIG_DLRM_H
#define TSIM_CONFIG_DLRM_H

#include "config/schema.h"

extern const struct tsim_key tsim_dlrm_keys[]; /* of a model: dense_features, bottom_mlp, top_mlp, tables */
enum { TSIM_N_DLRM_KEYS = 4 };

/* Makes model->list of it (tables, bottom products, interaction, top products; each product ends a block) and sets the
 * fields that transformers have. Mistakes go to the reader's diags. */
void tsim_dlrm_finish(struct tsim_reader *reader, const struct tsim_value *mapping, const char *path,
                      struct tsim_model *model);

#endif
