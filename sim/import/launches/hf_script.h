/* hf_script.h - private to import: reads what launch scripts on Hugging Face's Trainer have in common. */
#pragma once

#include "import/launches/recipe.h"

/* Variables of the environment that say which accelerators a command uses, for tsim_hf_script_world. */
#define TSIM_VISIBLE_DEVICES                                                                                           \
    {"CUDA_VISIBLE_DEVICES", "visible_devices"}, {"HIP_VISIBLE_DEVICES", "visible_devices"}, {                         \
        "ASCEND_RT_VISIBLE_DEVICES", "visible_devices"                                                                 \
    }

/* Adds what deepspeed --include, or CUDA_VISIBLE_DEVICES in the script, says of the machine, if nothing else does. */
void tsim_hf_script_world(struct tsim_recipe *r);
