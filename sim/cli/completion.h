/* completion.h - scripts for shells that complete commands, options, their words, files and the catalogue's ids, made
 * from the tables of commands and options. */
#pragma once

#include "cli/options.h"

void tsim_completion_bash(const struct tsim_commands *commands, FILE *out);
void tsim_completion_zsh(const struct tsim_commands *commands, FILE *out);
