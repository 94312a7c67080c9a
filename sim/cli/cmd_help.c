#include "cli/command.h"

#include "base/version.h"
#include "cli/manual.h"
#include "config/reference.h"

#include <string.h>

static enum tsim_exit wrong_format(const char *format) {
    fprintf(stderr,
            "tsim help: --format needs text or man, or without a command bash, zsh or reference, not '%s'\n"
            "Try 'tsim help --help'.\n",
            format);
    return TSIM_EXIT_USAGE;
}

enum tsim_exit tsim_cmd_help(const struct tsim_arguments *arguments) {
    const struct tsim_command *command = NULL;
    const char *format = arguments->value[TSIM_OPTION_FORMAT] ? arguments->value[TSIM_OPTION_FORMAT] : "text";
    if (arguments->n_operands > 0) {
        command = tsim_command_find(arguments->operands[0]);
        if (!command)
            return TSIM_EXIT_USAGE;
    }
    if (strcmp(format, "text") == 0)
        tsim_options_help(command, stdout);
    else if (strcmp(format, "man") == 0)
        tsim_manual_page(command, stdout);
    else if (strcmp(format, "bash") == 0 && !command)
        tsim_completion_bash(stdout);
    else if (strcmp(format, "zsh") == 0 && !command)
        tsim_completion_zsh(stdout);
    else if (strcmp(format, "reference") == 0 && !command)
        tsim_reference_print(stdout);
    else
        return wrong_format(format);
    return TSIM_EXIT_OK;
}

enum tsim_exit tsim_cmd_version(const struct tsim_arguments *arguments) {
    (void)arguments;
    printf("tsim %s\n", TSIM_VERSION);
    return TSIM_EXIT_OK;
}
