#include "cli/operands.h"

#include "base/file_bytes.h"
#include "config/text/document.h"

#include <string.h>

/* Reads scenarios that are pipes (tsim run <(generate)) and lends them under their names, because commands look at what
 * a file is before they read it. A pipe that cannot be read is left to the next reader. */
static void read_pipes(struct tsim_arena *arena, const struct tsim_arguments *arguments, struct tsim_caller *caller) {
    struct tsim_file_bytes bytes;
    struct stat info;
    for (size_t i = 0; i < arguments->n_operands; i++) {
        const char *file = arguments->operands[i];
        if (stat(file, &info) != 0 || !S_ISFIFO(info.st_mode) ||
            tsim_file_read(arena, file, TSIM_DOCUMENT_MAX_BYTES, "", &bytes, TSIM_UNHEARD) != TSIM_OK)
            continue;
        tsim_caller_lend(caller, file, tsim_arena_strndup(arena, bytes.text, bytes.size), bytes.size);
        tsim_heap_free(bytes.text);
    }
    if (caller->n_lent > 0)
        tsim_caller_set(caller);
}

/* Puts the scenarios of a folder in its place (tsim validate scenarios/published), where a command takes many. A folder
 * without any is left to the reader, which says what it is. */
static void open_folders(struct tsim_arena *arena, struct tsim_arguments *arguments) {
    const char **files = NULL, *const * names;
    size_t n_files = 0, capacity = 0, n_names;
    for (size_t i = 0; i < arguments->n_operands; i++) {
        const char *folder = arguments->operands[i], *end = folder[strlen(folder) - 1] == '/' ? "" : "/";
        if (tsim_folder_list(arena, folder, ".yaml", &names, &n_names) != 0)
            n_names = 0;
        files = tsim_heap_grow(files, &capacity, n_files + 1 + n_names, sizeof *files);
        if (n_names == 0)
            files[n_files++] = folder;
        for (size_t k = 0; k < n_names; k++)
            files[n_files++] = tsim_arena_printf(arena, "%s%s%s", folder, end, names[k]);
    }
    if (!files)
        return;
    arguments->operands = TSIM_NEW_ARRAY(arena, n_files, const char *);
    memcpy(arguments->operands, files, n_files * sizeof *files);
    arguments->n_operands = n_files;
    tsim_heap_free(files);
}

void tsim_operands_open(struct tsim_arena *arena, struct tsim_arguments *arguments, struct tsim_caller *caller) {
    const char *operands = arguments->command->operands;
    if (strcmp(operands, "SCENARIO...") == 0)
        open_folders(arena, arguments);
    if (strstr(operands, "SCENARIO"))
        read_pipes(arena, arguments, caller);
}
