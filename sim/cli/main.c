/* main.c - finds the command, runs it, and makes its exit status true: what was meant for standard output must have
 * arrived there. */
#include "base/caller.h"
#include "base/output.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/limits.h"
#include "cli/operands.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static void on_interrupt(int signal_number) {
    (void)signal_number;
    tsim_output_abandon_all();
    _exit(TSIM_EXIT_INTERRUPTED); /* SQLite undoes an unfinished transaction when the file is opened again */
}

/* Ends the program when the reader of a pipe or the terminal has gone away, as without a handler, but tidily. */
static void on_hang_up(int signal_number) {
    tsim_output_abandon_all();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static enum tsim_exit run_command(int argc, char **argv) {
    if (argc < 2) {
        tsim_help(NULL, stderr);
        return TSIM_EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    else if (strcmp(name, "--version") == 0)
        name = "version";
    const struct tsim_command *command = tsim_command_find(name);
    if (!command)
        return TSIM_EXIT_USAGE;
    struct tsim_arena arena;
    struct tsim_arguments arguments;
    struct tsim_caller caller = {0};
    enum tsim_exit status = TSIM_EXIT_USAGE;
    tsim_arena_init(&arena);
    if (tsim_options_parse(&arena, command, argc - 2, argv + 2, &arguments, stderr)) {
        if (arguments.has[TSIM_OPTION_HELP]) {
            tsim_help(command, stdout);
            status = TSIM_EXIT_OK;
        } else if (!tsim_can_write(&arguments)) {
            status = TSIM_EXIT_IO;
        } else {
            if (!tsim_command_takes(command, TSIM_OPTION_PORT)) /* a server's limits are those of its requests */
                tsim_limits_set(&arguments);
            tsim_operands_open(&arena, &arguments, &caller);
            status = command->run ? tsim_command_run(command, &arguments) : tsim_cmd_serve(&arguments, &TSIM_COMMANDS);
        }
    }
    tsim_caller_set(NULL);
    tsim_arena_release(&arena);
    return status;
}

/* Sets a handler, unless the signal was ignored when we were started (nohup, a shell's background job): then it stays
 * ignored. */
static void catch (int signal_number, void (*handler)(int)) {
    struct sigaction wanted = {.sa_handler = handler}, inherited;
    if (sigaction(signal_number, NULL, &inherited) == 0 && inherited.sa_handler != SIG_IGN)
        sigaction(signal_number, &wanted, NULL);
}

static void catch_signals(void) {
    catch (SIGINT, on_interrupt);
    catch (SIGTERM, on_interrupt);
    catch (SIGPIPE, on_hang_up);
    catch (SIGHUP, on_hang_up);
}

int main(int argc, char **argv) {
    catch_signals();
    tsim_json_init();
    enum tsim_exit status = run_command(argc, argv);
    enum tsim_exit written = tsim_flush_results();
    return (int)(written == TSIM_EXIT_OK ? status : written);
}
