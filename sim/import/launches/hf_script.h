/* hf_script.h - private to import: reads what launch scripts on Hugging Face's Trainer have in common. */
#pragma once

#include "import/launches/recipe.h"

/* Adds what deepspeed --include, or CUDA_VISIBLE_DEVICES in the script, says of the machine, if nothing else does. */
void tsim_hf_script_world(struct tsim_recipe *r);
