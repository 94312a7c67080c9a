#include "cli/command.h"

#include "base/version.h"

enum tsim_exit tsim_cmd_help(const struct tsim_arguments *arguments) {
    if (arguments->n_operands == 0) {
        tsim_commands_print(stdout);
        return TSIM_EXIT_OK;
    }
    const struct tsim_command *command = tsim_command_find(arguments->operands[0]);
    if (!command)
        return TSIM_EXIT_USAGE;
    tsim_options_help(command, stdout);
    return TSIM_EXIT_OK;
}

enum tsim_exit tsim_cmd_version(const struct tsim_arguments *arguments) {
    (void)arguments;
    printf("tsim %s\n", TSIM_VERSION);
    return TSIM_EXIT_OK;
}
