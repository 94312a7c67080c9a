/* main.c - finds the command, runs it, and makes its exit status true: what was meant for standard output must have
 * arrived there. */
#include "base/caller.h"
#include "base/file_bytes.h"
#include "base/output.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/limits.h"
#include "config/text/document.h"

#include <dirent.h>
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

/* Reads scenarios that are pipes (tsim run <(generate)) and lends them under their names, because commands look at what
 * a file is before they read it. A pipe that cannot be read is left to the next reader. */
static void read_pipes(struct tsim_arena *arena, const struct tsim_arguments *arguments, struct tsim_caller *caller) {
    struct tsim_diags unread;
    struct tsim_file_bytes bytes;
    struct stat info;
    tsim_diags_init(&unread);
    for (size_t i = 0; strstr(arguments->command->operands, "SCENARIO") && i < arguments->n_operands; i++) {
        const char *file = arguments->operands[i];
        if (stat(file, &info) != 0 || !S_ISFIFO(info.st_mode) ||
            tsim_file_read(arena, file, TSIM_DOCUMENT_MAX_BYTES, "", &bytes, &unread) != TSIM_OK)
            continue;
        tsim_caller_lend(caller, file, tsim_arena_strndup(arena, bytes.text, bytes.size), bytes.size);
        tsim_heap_free(bytes.text);
    }
    tsim_diags_release(&unread);
    if (caller->n_lent > 0)
        tsim_caller_set(caller);
}

static int is_yaml(const struct dirent *item) {
    size_t length = strlen(item->d_name);
    return length > 5 && strcmp(item->d_name + length - 5, ".yaml") == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Puts the scenarios of a folder in its place (tsim validate scenarios/published), where a command takes many. A folder
 * without any is left to the reader, which says what it is. */
static void open_folders(struct tsim_arena *arena, struct tsim_arguments *arguments) {
    const char **files = NULL;
    size_t n_files = 0, capacity = 0, n_operands = arguments->n_operands;
    if (strcmp(arguments->command->operands, "SCENARIO...") != 0)
        return;
    for (size_t i = 0; i < n_operands; i++) {
        struct dirent **items = NULL;
        const char *folder = arguments->operands[i];
        int n_items = scandir(folder, &items, is_yaml, by_name);
        files = tsim_heap_grow(files, &capacity, n_files + 1 + (size_t)(n_items > 0 ? n_items : 0), sizeof *files);
        if (n_items <= 0)
            files[n_files++] = folder;
        for (int k = 0; k < n_items; k++) {
            bool ends = folder[strlen(folder) - 1] == '/';
            files[n_files++] = tsim_arena_printf(arena, "%s%s%s", folder, ends ? "" : "/", items[k]->d_name);
            tsim_heap_free_foreign((char *)items[k]);
        }
        tsim_heap_free_foreign((char *)items);
    }
    arguments->operands = TSIM_NEW_ARRAY(arena, n_files, const char *);
    memcpy(arguments->operands, files, n_files * sizeof *files);
    arguments->n_operands = n_files;
    tsim_heap_free(files);
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
            open_folders(&arena, &arguments);
            read_pipes(&arena, &arguments, &caller);
            status = command->run ? command->run(&arguments) : tsim_cmd_serve(&arguments, &TSIM_COMMANDS);
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
