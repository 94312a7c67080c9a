#include "cli/command.h"

#include "import/formats.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

static const struct tsim_import_format *find_format(const char *name) {
    enum { MOST_FORMATS = 32 };
    const char *names[MOST_FORMATS] = {NULL};
    size_t n = TSIM_N_IMPORT_FORMATS < MOST_FORMATS ? TSIM_N_IMPORT_FORMATS : MOST_FORMATS;
    const struct tsim_import_format *format = tsim_import_format_find(name);
    if (format)
        return format;
    for (size_t i = 0; i < n; i++)
        names[i] = TSIM_IMPORT_FORMATS[i].name;
    if (access(name, F_OK) == 0)
        fprintf(stderr, "tsim import: needs the format of the file: tsim import FORMAT %s\n", name);
    else
        tsim_say_unknown("tsim import: unknown format", name, names, n);
    fputs("FORMAT is one of", stderr);
    for (size_t i = 0; i < n; i++)
        fprintf(stderr, " %s", names[i]);
    fputs("\nTry 'tsim import --help'.\n", stderr);
    return NULL;
}

static enum tsim_status write_text(const struct tsim_arguments *arguments, struct tsim_arena *arena, const char *text,
                                   struct tsim_diags *diags) {
    if (arguments->has[TSIM_OPTION_OUTPUT])
        return tsim_write_text(arena, arguments->value[TSIM_OPTION_OUTPUT], text, diags);
    fputs(text, stdout); /* failures of stdout are found when it is flushed at the end */
    return TSIM_OK;
}

/* Names the files of a result as seen from the folder in which it is written; from another folder, by paths from the
 * root. */
static const char *const *files_of(const struct tsim_arguments *arguments, const struct tsim_import_format *format,
                                   struct tsim_arena *arena) {
    const char *output = arguments->value[TSIM_OPTION_OUTPUT], *const *files = arguments->operands + 1;
    if (!format->takes_many || !output || !strchr(output, '/'))
        return files;
    const char **rooted = TSIM_NEW_ARRAY(arena, arguments->n_operands - 1, const char *);
    char here[PATH_MAX];
    bool is_known = getcwd(here, sizeof here);
    for (size_t i = 0; i + 1 < arguments->n_operands; i++)
        rooted[i] = !is_known || files[i][0] == '/' || strcmp(files[i], "-") == 0
                        ? files[i]
                        : tsim_arena_printf(arena, "%s/%s", here, files[i]);
    return rooted;
}

/* Says what was assumed, and how many settings have no effect; with --verbose each of them. */
static void say_notes(const struct tsim_arguments *arguments, const struct tsim_import_result *result) {
    fputs(result->notes, stderr);
    if (result->n_no_effect > 0 && arguments->has[TSIM_OPTION_VERBOSE])
        fputs(result->no_effect, stderr);
    else if (result->n_no_effect > 0)
        fprintf(stderr, "note: %zu setting%s no effect on performance; --verbose lists %s\n", result->n_no_effect,
                result->n_no_effect == 1 ? " has" : "s have", result->n_no_effect == 1 ? "it" : "them");
}

/* Turns --model, --hf, --node and --nodes into settings as of --set, in front of the user's own. */
static enum tsim_status take_words(const struct tsim_arguments *arguments, struct tsim_arena *arena,
                                   struct tsim_import_input *options, struct tsim_diags *diags) {
    static const struct {
        enum tsim_option option;
        const char *path;
    } WORDS[] = {
        {TSIM_OPTION_MODEL, "model"}, {TSIM_OPTION_NODE, "cluster.node"}, {TSIM_OPTION_NODES, "cluster.nodes"}};
    enum { N = sizeof WORDS / sizeof WORDS[0] };
    struct tsim_override *all = TSIM_NEW_ARRAY(arena, options->n_overrides + N + 1, struct tsim_override);
    size_t n = 0;
    for (size_t i = 0; i < N; i++)
        if (arguments->has[WORDS[i].option])
            all[n++] = (struct tsim_override){WORDS[i].path, arguments->value[WORDS[i].option]};
    if (arguments->has[TSIM_OPTION_HF]) {
        const struct tsim_import_input unchanged = {.approximates = options->approximates};
        struct tsim_import_result model;
        TSIM_TRY(tsim_import_files(arena, tsim_import_format_find("hf-config"), &arguments->value[TSIM_OPTION_HF], 1,
                                   &unchanged, &model, diags));
        all[n++] = (struct tsim_override){"model", model.yaml};
    }
    for (size_t i = 0; i < options->n_overrides; i++)
        all[n++] = options->overrides[i];
    options->overrides = all;
    options->n_overrides = n;
    return TSIM_OK;
}

/* Returns false, after a message, if options give the same thing twice, or if the format has no use for them. */
static bool are_words_good(const struct tsim_arguments *arguments, const struct tsim_import_format *format) {
    static const enum tsim_option WORDS[] = {TSIM_OPTION_MODEL, TSIM_OPTION_HF, TSIM_OPTION_NODE, TSIM_OPTION_NODES,
                                             TSIM_OPTION_GPUS};
    bool gives_job = tsim_import_gives_scenario(format);
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0] && !gives_job; i++)
        if (arguments->has[WORDS[i]]) {
            fprintf(stderr, "tsim import: %s gives no job that --%s could be of\n", format->name,
                    tsim_option_spec(WORDS[i])->name);
            return false;
        }
    if (arguments->has[TSIM_OPTION_MODEL] && arguments->has[TSIM_OPTION_HF])
        fputs("tsim import: give one of --model and --hf, not both\n", stderr);
    else if (arguments->has[TSIM_OPTION_GPUS] && (arguments->has[TSIM_OPTION_NODES] || arguments->n_gpus != 1))
        fputs("tsim import: --gpus takes one number, in place of --nodes\n", stderr);
    else
        return true;
    return false;
}

/* Does what 'tsim calibrate nccl-tests' does: that output becomes links by a fit. */
static enum tsim_exit import_nccl_tests(const struct tsim_arguments *arguments) {
    static const enum tsim_option OF_JOBS[] = {TSIM_OPTION_MODEL, TSIM_OPTION_HF,      TSIM_OPTION_NODE,
                                               TSIM_OPTION_NODES, TSIM_OPTION_GPUS,    TSIM_OPTION_IGNORE,
                                               TSIM_OPTION_ENV,   TSIM_OPTION_VERBOSE, TSIM_OPTION_APPROXIMATE};
    if (arguments->n_operands > 1)
        return tsim_is_refused(arguments, "nccl-tests", OF_JOBS, sizeof OF_JOBS / sizeof OF_JOBS[0])
                   ? TSIM_EXIT_USAGE
                   : tsim_calibrate_nccl_tests(arguments);
    fputs("tsim import: needs a FILE too: tsim import nccl-tests FILE\nTry 'tsim import --help'.\n", stderr);
    return TSIM_EXIT_USAGE;
}

enum tsim_exit tsim_cmd_import(const struct tsim_arguments *arguments) {
    struct tsim_import_result result = {.notes = ""};
    /* Operands behind "--" are arguments of the script if a file stands before them. */
    const size_t n_own = arguments->n_before_dashes >= 2 ? arguments->n_before_dashes : arguments->n_operands;
    struct tsim_import_input options = {.overrides = arguments->overrides,
                                        .n_overrides = arguments->n_overrides,
                                        .ignored = arguments->ignored,
                                        .n_ignored = arguments->n_ignored,
                                        .arguments = arguments->operands + n_own,
                                        .n_arguments = arguments->n_operands - n_own,
                                        .environment = arguments->environment,
                                        .n_environment = arguments->n_environment,
                                        .approximates = arguments->has[TSIM_OPTION_APPROXIMATE],
                                        .gpus = arguments->n_gpus > 0 ? arguments->gpus[0] : 0};
    if (strcmp(arguments->operands[0], "nccl-tests") == 0)
        return import_nccl_tests(arguments);
    const struct tsim_import_format *format = find_format(arguments->operands[0]);
    if (!format)
        return TSIM_EXIT_USAGE;
    if (n_own < 2) {
        fprintf(stderr, "tsim import: needs a FILE too: tsim import %s FILE\nTry 'tsim import --help'.\n",
                format->name);
        return TSIM_EXIT_USAGE;
    }
    if (n_own > 2 && !format->takes_many) {
        fprintf(stderr, "tsim import: %s takes one file, not %zu\n", format->name, n_own - 1);
        return TSIM_EXIT_USAGE;
    }
    if ((options.n_arguments > 0 || (options.n_environment > 0 && !format->takes_environment)) && !format->is_script) {
        fprintf(stderr, "tsim import: %s is no script: it takes no --env and no arguments\n", format->name);
        return TSIM_EXIT_USAGE;
    }
    if (arguments->n_overrides > 0 && !format->takes_overrides) {
        fprintf(stderr, "tsim import: %s gives no scenario that --set could change\n", format->name);
        return TSIM_EXIT_USAGE;
    }
    if (arguments->n_ignored > 0 && !format->takes_ignored) {
        fprintf(stderr, "tsim import: %s has no settings that --ignore could leave out\n", format->name);
        return TSIM_EXIT_USAGE;
    }
    if (!are_words_good(arguments, format))
        return TSIM_EXIT_USAGE;
    if (options.approximates && !format->approximates && !arguments->has[TSIM_OPTION_HF]) {
        fprintf(stderr, "tsim import: %s has no parts of a model that --approximate could stand for\n", format->name);
        return TSIM_EXIT_USAGE;
    }
    enum tsim_status status = take_words(arguments, arguments->arena, &options, arguments->diags);
    if (status == TSIM_OK)
        status = tsim_import_files(arguments->arena, format, files_of(arguments, format, arguments->arena), n_own - 1,
                                   &options, &result, arguments->diags);
    if (status == TSIM_OK && !arguments->has[TSIM_OPTION_QUIET])
        say_notes(arguments, &result);
    if (status == TSIM_OK)
        status = write_text(arguments, arguments->arena, result.yaml, arguments->diags);
    tsim_report_diags(arguments, arguments->diags);
    return tsim_exit_of(status);
}
