/* hub_names.h - private to import: finds models of the catalogue by the names that others give them. */
#ifndef TSIM_IMPORT_HUB_NAMES_H
#define TSIM_IMPORT_HUB_NAMES_H

#include "import/launches/recipe.h"

/* Returns an id of the catalogue for a name such as "meta-llama/Llama-3.1-8B-Instruct", "llama3.1-405b",
 * "deepseek3-671b" or "qwen3_30B_A3B"; NULL: none is known. The words for what a model was tuned for are left out,
 * and editions of Llama 3 that differ in the rotary base alone are one. */
const char *tsim_known_model(struct tsim_recipe *r, const char *name);
/* Puts the model of that name: an id of the catalogue, or what models/hub.yaml has of it. False: neither knows it. */
bool tsim_put_hub_model(struct tsim_recipe *r, const struct tsim_setting *from, const char *name);

#endif
