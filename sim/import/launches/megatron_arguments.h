/* megatron_arguments.h - private to import: says of each of Megatron-LM's arguments that nothing reads whether it
 * matters. */
#pragma once

#include "import/launches/recipe.h"

extern const struct tsim_setting_class TSIM_MEGATRON_ARGUMENTS[];
extern const size_t TSIM_N_MEGATRON_ARGUMENTS;
