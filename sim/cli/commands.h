/* commands.h - the list of commands, and the help about them. */
#pragma once

#include "cli/options.h"

extern const struct tsim_commands TSIM_COMMANDS;

/* Finds a command by its name. Returns NULL, after a message with a suggestion, if there is none. */
const struct tsim_command *tsim_command_find(const char *name);

/* Prints what `tsim help COMMAND` says; with NULL what `tsim help` says. */
void tsim_help(const struct tsim_command *command, FILE *out);
