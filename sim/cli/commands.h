/* commands.h - which commands there are, and the help that tells of them. */
#ifndef TSIM_CLI_COMMANDS_H
#define TSIM_CLI_COMMANDS_H

#include "cli/options.h"

extern const struct tsim_commands TSIM_COMMANDS;

/* Finds a command by its name; NULL after a message with a suggestion. */
const struct tsim_command *tsim_command_find(const char *name);

/* Prints what `tsim help COMMAND` says; NULL: `tsim help`. */
void tsim_help(const struct tsim_command *command, FILE *out);

#endif
