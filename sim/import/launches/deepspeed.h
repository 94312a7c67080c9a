/* deepspeed.h - private to import: DeepSpeed's configuration beside or beneath another program's. */
#pragma once

#include "import/launches/recipe.h"

/* The beginning of the keys of DeepSpeed's settings among those of another program. */
#define TSIM_DEEPSPEED_PREFIX "deepspeed."

/* Adds the settings of the file that a setting names, and refuses those that change the run. Returns whether the file
 * stands beside the imported one; mistakes in it are reported. */
bool tsim_deepspeed_add_file(struct tsim_recipe *r, const struct tsim_setting *named);
/* Puts how ZeRO divides the states, its buckets and what is on the host. Returns the stage. */
int64_t tsim_deepspeed_put_sharding(struct tsim_recipe *r);
