/* hf_config.h - a Hugging Face configuration (config.json of transformers) as a model file (tsim/model/v1).
 *
 * hf_families.c has the known values of model_type, docs/guide.md lists them. The parameters are counted as the class named in `architectures` has them (a BertForMaskedLM has a head, a BertModel a
 * pooler); they are exact, and where the model file has no key of its own for some of them they are in its
 * other_parameters. Keys and their defaults are those of transformers' configuration classes. */
#ifndef TSIM_IMPORT_HF_CONFIG_H
#define TSIM_IMPORT_HF_CONFIG_H

#include "config/catalogue.h"
#include "config/text/value.h"
#include "import/formats.h"

/* `root` is the parsed file: JSON is YAML. *model and *yaml (a whole file: comments with the count and with what the
 * model file does not say, then its keys) are in `arena`. Every missing key and every wrong value is one diagnostic:
 * TSIM_ERR_SCHEMA and TSIM_ERR_RANGE; TSIM_ERR_REFERENCE for an architecture that is not known, and TSIM_ERR_INFEASIBLE
 * for one of which tsim lacks a part. So is every key that
 * changes the model, or that is not known, and that --ignore (of `input`, of which nothing else is read) does not name:
 * TSIM_ERR_INFEASIBLE. */
enum tsim_status tsim_hf_config_import(struct tsim_arena *arena, const struct tsim_value *root,
                                       const struct tsim_import_input *input, const struct tsim_model **model,
                                       const char **yaml, struct tsim_diags *diags);

#endif
