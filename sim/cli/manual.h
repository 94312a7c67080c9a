/* manual.h - the tables of commands and options in other shapes than --help: manual pages and completions of shells. */
#ifndef TSIM_CLI_MANUAL_H
#define TSIM_CLI_MANUAL_H

#include "cli/command.h"

/* roff with the man macros: tsim(1), or tsim-COMMAND(1). */
void tsim_manual_page(const struct tsim_command *command, FILE *out); /* NULL: the page of all */

/* Scripts that complete commands, options, their words, files and the catalogue's ids. */
void tsim_completion_bash(FILE *out);
void tsim_completion_zsh(FILE *out);

#endif
