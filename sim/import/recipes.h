/* recipes.h - training recipes of other programs as scenarios. What a setting becomes stands behind each key of the
 * scenario; what a recipe does not say is assumed and marked so; settings that have no effect on performance, or that
 * are not modelled, stand in comments at its end. Settings that contradict each other are mistakes of the recipe. */
#ifndef TSIM_IMPORT_RECIPES_H
#define TSIM_IMPORT_RECIPES_H

#include "import/format.h"

/* Arguments of NVIDIA/Megatron-LM (megatron/training/arguments.py) and of the launchers torchrun, deepspeed and srun:
 * on a command line, in a shell script (shell.h), or in YAML, as the argument's name with dashes or underscores. */
enum tsim_status tsim_import_megatron(struct tsim_arena *arena, const struct tsim_import_input *input,
                                      struct tsim_import_result *result, struct tsim_diags *diags);

#endif
