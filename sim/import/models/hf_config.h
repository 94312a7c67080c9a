/* hf_config.h - reads a Hugging Face configuration (config.json of transformers) as a model file (tsim/model/v1).
 *
 * hf_families.c has the known values of model_type, and docs/guide.md lists them. The parameters are counted as the
 * class named in `architectures` has them (a BertForMaskedLM has a head, a BertModel a pooler). They are exact; those
 * for which the model file has no key are in its other_parameters. Keys and their defaults are those of transformers'
 * configuration classes. */
#pragma once

#include "config/catalogue.h"
#include "config/text/value.h"
#include "import/formats.h"

/* Imports a model. `root` is the parsed file (JSON is YAML). *model and *yaml are in `arena`; *yaml is a whole file,
 * with comments on the count and on what the model file does not say, then its keys. Every missing key and every wrong
 * value gives one diagnostic. Returns TSIM_ERR_SCHEMA or TSIM_ERR_RANGE for these, TSIM_ERR_REFERENCE for an
 * architecture that is not known, and TSIM_ERR_INFEASIBLE for one of which tsim lacks a part, and for a key that
 * changes the model, or is not known, and that --ignore does not name. Nothing else of `input` is read. */
enum tsim_status tsim_hf_config_import(struct tsim_arena *arena, const struct tsim_value *root,
                                       const struct tsim_import_input *input, const struct tsim_model **model,
                                       const char **yaml, struct tsim_diags *diags);
