/* operands.h - scenarios on the command line that are not files to read as they are: folders and pipes. */
#pragma once

#include "base/caller.h"
#include "cli/options.h"

/* Puts the .yaml files of a folder in its place, and lends what comes through pipes to the readers of scenarios until
 * the caller is set anew. Texts are allocated from `arena`. */
void tsim_operands_open(struct tsim_arena *arena, struct tsim_arguments *arguments, struct tsim_caller *caller);
