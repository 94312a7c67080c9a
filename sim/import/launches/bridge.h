/* bridge.h - private to import: reads the configuration that Megatron-Bridge prints as its "Task Configuration", or
 * saves as YAML. */
#pragma once

#include "import/launches/recipe.h"

bool tsim_is_bridge(const char *text, size_t size);
/* Adds the settings of its sections, which have Megatron-Core's names. */
enum tsim_status tsim_bridge_read(struct tsim_recipe *r);

/* Returns whether a file has the sections of such a configuration: a model by its sizes, or a batch. */
bool tsim_has_bridge_sections(const struct tsim_value *root);
/* Adds what the recipe of that name (models/bridge-recipes.yaml) sets, with a file of overrides laid over it. *model
 * becomes the id of its model in the catalogue. */
enum tsim_status tsim_bridge_recipe(struct tsim_recipe *r, const char *name, const struct tsim_value *overrides,
                                    const char **model);
