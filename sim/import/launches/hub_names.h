/* hub_names.h - private to import: finds models of the catalogue by the names that other programs give them. */
#pragma once

#include "import/launches/recipe.h"

/* Returns an id of the catalogue for a name such as "meta-llama/Llama-3.1-8B-Instruct", "llama3.1-405b",
 * "deepseek3-671b" or "qwen3_30B_A3B"; NULL if none is known. It leaves out the words for what a model was tuned for,
 * and takes editions of Llama 3 that differ only in the rotary base as one. */
const char *tsim_known_model(struct tsim_recipe *r, const char *name);
/* Puts the model of that name: an id of the catalogue, or the model that models/hub.yaml has. Returns false if neither
 * knows it. */
bool tsim_put_hub_model(struct tsim_recipe *r, const struct tsim_setting *from, const char *name);

/* Changes the model that `from` names, which has been put, by the keys of a config.json of Hugging Face below a
 * section (models/settings/changed-sizes.yaml has their patterns). A model that the user gives stays as it is. */
void tsim_put_changed_sizes(struct tsim_recipe *r, const struct tsim_setting *from, const char *section);
