/* nemo_script.h - private to import: reads the scripts that start NeMo. Those of NeMo 2 are Python, which takes a
 * recipe by its name and sets attributes of it. Those of NeMo 1 and its launcher are a shell's, with words KEY=VALUE
 * behind a configuration. */
#pragma once

#include "import/launches/recipe.h"

enum tsim_nemo_form { TSIM_NEMO_FILE, TSIM_NEMO_PYTHON, TSIM_NEMO_SHELL };
enum tsim_nemo_form tsim_nemo_form_of(const char *text, size_t size);

/* Finds the configuration that the script makes of its recipe (models/nemo-recipes.yaml), or of the file that it names
 * if that stands in the same tree. *model becomes the recipe's model; NULL: its sizes are in the configuration.
 * *recipe becomes the recipe of Megatron-Bridge that the script names (run_recipe.py); *root is then what it sets
 * beside, and the machine is added to `r`. */
enum tsim_status tsim_nemo_script(struct tsim_recipe *r, enum tsim_nemo_form form, const struct tsim_value **root,
                                  const char **model, const char **recipe);
