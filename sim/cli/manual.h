/* manual.h - the tables of commands and options in other shapes than --help: manual pages and completions of shells. */
#ifndef TSIM_CLI_MANUAL_H
#define TSIM_CLI_MANUAL_H

#include "cli/options.h"

/* roff with the man macros: tsim-COMMAND(1), or without `command` tsim(1). */
void tsim_manual_page(const struct tsim_commands *commands, const struct tsim_command *command, FILE *out);

/* Scripts that complete commands, options, their words, files and the catalogue's ids. */
void tsim_completion_bash(const struct tsim_commands *commands, FILE *out);
void tsim_completion_zsh(const struct tsim_commands *commands, FILE *out);

#endif
