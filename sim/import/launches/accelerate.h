/* accelerate.h - private to import: reads the file of `accelerate config` for scripts that name it. */
#pragma once

#include "import/launches/recipe.h"

/* Adds the settings of such a file, which the recipe has by their paths, under the keys of hf_trainer.h. */
void tsim_accelerate_add(struct tsim_recipe *r);
