/* manual.h - manual pages, made from the tables of commands, options and exit statuses that --help also shows. */
#pragma once

#include "cli/options.h"

/* Writes tsim-COMMAND(1), or without `command` tsim(1), in roff with the man macros. */
void tsim_manual_page(const struct tsim_commands *commands, const struct tsim_command *command, FILE *out);
