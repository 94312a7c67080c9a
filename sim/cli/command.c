#include "cli/command.h"

#include "base/output.h"
#include "config/text/document.h"
#include "config/text/value.h"
#include "import/flow_text.h"
#include "report/terminal/figures.h"
#include "report/text_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

void tsim_say_unknown(const char *what, const char *name, const char *const *names, size_t n_names) {
    const char *near = tsim_did_you_mean(name, names, n_names);
    fprintf(tsim_messages(), "%s '%s'", what, name);
    if (near)
        fprintf(tsim_messages(), "; did you mean '%s'?", near);
    fputc('\n', tsim_messages());
}

bool tsim_is_refused(const struct tsim_arguments *arguments, const char *what, const enum tsim_option *without,
                     size_t n) {
    for (size_t i = 0; i < n; i++)
        if (arguments->has[without[i]]) {
            fprintf(tsim_messages(), "tsim %s: %s takes no --%s\nTry 'tsim %s --help'.\n", arguments->command->name,
                    what, tsim_option_spec(without[i])->name, arguments->command->name);
            return true;
        }
    return false;
}

enum tsim_exit tsim_command_run(const struct tsim_command *command, struct tsim_arguments *arguments) {
    struct tsim_arena arena;
    struct tsim_diags diags;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    arguments->arena = &arena;
    arguments->diags = &diags;
    enum tsim_exit status = command->run(arguments);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    return status;
}

enum tsim_exit tsim_exit_of(enum tsim_status status) {
    switch (status) {
    case TSIM_OK:
        return TSIM_EXIT_OK;
    case TSIM_ERR_IO:
    case TSIM_ERR_DB:
        return TSIM_EXIT_IO;
    case TSIM_ERR_STOPPED:
        return TSIM_EXIT_INTERRUPTED;
    default:
        return TSIM_EXIT_INVALID;
    }
}

enum tsim_exit tsim_exit_worse(enum tsim_exit a, enum tsim_exit b) {
    static const enum tsim_exit WORST_FIRST[] = {TSIM_EXIT_IO, TSIM_EXIT_INVALID, TSIM_EXIT_DOES_NOT_FIT,
                                                 TSIM_EXIT_GATE};
    for (size_t i = 0; i < sizeof WORST_FIRST / sizeof WORST_FIRST[0]; i++)
        if (a == WORST_FIRST[i] || b == WORST_FIRST[i])
            return WORST_FIRST[i];
    return TSIM_EXIT_OK;
}

static void add_diagnostics(struct tsim_answer *answer, const struct tsim_diags *diags) {
    for (size_t i = 0; i < diags->n_items; i++) {
        const struct tsim_diag *diag = &diags->items[i];
        struct tsim_json *item = tsim_json_object(answer->diagnostics, NULL);
        tsim_json_text(item, "severity", diag->is_warning ? "warning" : "error");
        tsim_json_text(item, "file", answer->is_library ? diag->at.file : NULL);
        tsim_json_integer(item, "line", diag->at.line);
        tsim_json_integer(item, "column", diag->at.column);
        tsim_json_text(item, "field", diag->field);
        tsim_json_text(item, "message", diag->message);
        tsim_json_text(item, "hint", diag->hint);
        tsim_json_text(item, "set", diag->set_path);
        answer->has_errors |= !diag->is_warning;
    }
}

void tsim_report_diags(const struct tsim_arguments *arguments, struct tsim_diags *diags) {
    if (arguments->answer)
        add_diagnostics(arguments->answer, diags);
    for (size_t i = 0; i < diags->n_items && !arguments->answer; i++) {
        struct tsim_diags one = {.items = &diags->items[i], .n_items = 1, .n_errors = 1};
        if (!diags->items[i].is_warning || !arguments->has[TSIM_OPTION_QUIET])
            tsim_diags_print(&one, tsim_messages());
    }
    tsim_diags_release(diags);
}

bool tsim_is_json_on_stdout(const struct tsim_arguments *arguments) {
    return arguments->has[TSIM_OPTION_JSON] && !arguments->value[TSIM_OPTION_JSON];
}

bool tsim_can_write(const struct tsim_arguments *arguments) {
    static const enum tsim_option WRITTEN[] = {TSIM_OPTION_OUTPUT, TSIM_OPTION_REPORT, TSIM_OPTION_TRACE,
                                               TSIM_OPTION_JSON};
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    for (size_t i = 0; i < sizeof WRITTEN / sizeof WRITTEN[0]; i++)
        if (arguments->value[WRITTEN[i]])
            tsim_output_try(arguments->value[WRITTEN[i]], &diags);
    bool can = diags.n_errors == 0;
    tsim_report_diags(arguments, &diags);
    return can;
}

enum tsim_exit tsim_write_file(const char *file, tsim_json_parts_fn write, void *context) {
    struct tsim_output *output;
    struct tsim_arena arena;
    struct tsim_diags diags;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    enum tsim_status status = tsim_output_open(&arena, file, &output, &diags);
    if (status == TSIM_OK) {
        status = write(context, tsim_output_stream(output));
        if (status == TSIM_OK)
            status = tsim_output_keep(output, &diags);
        else
            tsim_output_discard(output);
    }
    tsim_diags_print(&diags, tsim_messages());
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    return tsim_exit_of(status);
}

enum tsim_exit tsim_write_json_parts(const struct tsim_arguments *arguments, tsim_json_parts_fn write, void *context) {
    if (arguments->value[TSIM_OPTION_JSON])
        return tsim_write_file(arguments->value[TSIM_OPTION_JSON], write, context);
    return tsim_exit_of(write(context, tsim_results())); /* failures to write are found when it is flushed at the end */
}

static enum tsim_status write_tree(void *context, FILE *out) {
    tsim_json_write(context, out);
    return TSIM_OK;
}

enum tsim_exit tsim_write_json(const struct tsim_arguments *arguments, struct tsim_json *root) {
    enum tsim_exit status = tsim_write_json_parts(arguments, write_tree, root);
    tsim_json_release(root);
    return status;
}

bool tsim_write_tables(const struct tsim_arguments *arguments, const struct tsim_figures *tables, size_t n,
                       enum tsim_exit *status) {
    bool has_csv = arguments->has[TSIM_OPTION_CSV];
    for (size_t i = 0; i < n && has_csv; i++)
        tsim_figures_print_csv(&tables[i], stdout);
    if (arguments->has[TSIM_OPTION_JSON]) {
        struct tsim_json *root = tsim_json_new_object();
        for (size_t i = 0; i < n; i++)
            tsim_figures_json(&tables[i], root);
        *status = tsim_write_json(arguments, root);
    }
    return has_csv || tsim_is_json_on_stdout(arguments);
}

int32_t tsim_n_jobs(const struct tsim_arguments *arguments) {
    long n_processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (arguments->jobs > 0)
        return arguments->jobs;
    return n_processors > 0 && n_processors < 1024 ? (int32_t)n_processors : 1;
}

enum tsim_exit tsim_flush_results(void) {
    errno = 0;
    if (fflush(tsim_results()) == 0 && !ferror(tsim_results()))
        return TSIM_EXIT_OK;
    if (errno != EPIPE)
        fprintf(tsim_messages(), "tsim: error: cannot write to standard output: %s\n",
                errno ? strerror(errno) : "write error");
    clearerr(tsim_results());
    return TSIM_EXIT_IO;
}

bool tsim_find_file_kind(struct tsim_arena *arena, const char *file, enum tsim_catalogue_kind *kind) {
    const struct tsim_value *root = NULL;
    if (strcmp(file, "-") == 0)
        return false;
    tsim_document_read(arena, file, &root, TSIM_UNHEARD);
    for (int k = 0; root && k < TSIM_CATALOGUE_SCENARIOS; k++) {
        *kind = (enum tsim_catalogue_kind)k;
        const char *schema = tsim_arena_printf(arena, "tsim/%s/v1", tsim_catalogue_word(*kind));
        if (tsim_value_is_text(tsim_value_find(root, "schema"), schema))
            return true;
    }
    return false;
}

bool tsim_find_kind(const struct tsim_arguments *arguments, const char *word, enum tsim_catalogue_kind *kind) {
    const char *words[2 * TSIM_N_CATALOGUE_KINDS]; /* the plurals, then the words for one */
    if (tsim_catalogue_find_kind(word, kind))
        return true;
    for (int i = 0; i < TSIM_N_CATALOGUE_KINDS; i++) {
        words[i] = tsim_catalogue_plural((enum tsim_catalogue_kind)i);
        words[TSIM_N_CATALOGUE_KINDS + i] = tsim_catalogue_word((enum tsim_catalogue_kind)i);
    }
    static const char *const OTHERS[][2] = {{"gpu", "accelerators"},   {"chip", "accelerators"}, {"network", "fabrics"},
                                            {"server", "nodes"},       {"machine", "nodes"},     {"cluster", "nodes"},
                                            {"framework", "software"}, {"example", "scenarios"}};
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++)
        if (strncasecmp(word, OTHERS[i][0], strlen(OTHERS[i][0])) == 0) {
            fprintf(tsim_messages(), "tsim %s: unknown kind '%s'; did you mean '%s'?\n", arguments->command->name, word,
                    OTHERS[i][1]);
            return false;
        }
    char what[64];
    snprintf(what, sizeof what, "tsim %s: unknown kind", arguments->command->name);
    tsim_say_unknown(what, word, words, 2 * TSIM_N_CATALOGUE_KINDS);
    fputs("Kinds:", tsim_messages());
    for (int i = 0; i < TSIM_N_CATALOGUE_KINDS; i++)
        fprintf(tsim_messages(), " %s", words[i]);
    fputc('\n', tsim_messages());
    return false;
}

const char *tsim_db_file(const struct tsim_arguments *arguments) {
    const char *file = arguments->value[TSIM_OPTION_DB];
    return file ? file : "tsim.db";
}

enum tsim_status tsim_open_database(struct tsim_arena *arena, const struct tsim_arguments *arguments,
                                    struct tsim_store **store, struct tsim_diags *diags) {
    if (!arguments->has[TSIM_OPTION_NO_DB])
        return tsim_store_open(arena, tsim_db_file(arguments), TSIM_STORE_READ, store, diags);
    tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_DB, (struct tsim_place){.file = "--no-db"}, "",
                                    "runs and sweeps are read from a database"),
                   "leave it out, or name one with --db FILE");
    return TSIM_ERR_DB;
}

bool tsim_is_run_number(const char *operand) {
    return operand[0] && strspn(operand, "0123456789") == strlen(operand) && strlen(operand) < 18;
}

enum tsim_status tsim_load_operand(struct tsim_arena *arena, const struct tsim_arguments *arguments,
                                   const char *operand, const struct tsim_scenario **scenario,
                                   struct tsim_diags *diags) {
    struct tsim_scenario_source *source = TSIM_NEW(arena, struct tsim_scenario_source);
    struct tsim_store *store;
    const char *json = NULL;
    if (!tsim_is_run_number(operand))
        return tsim_scenario_load(arena, operand, arguments->overrides, arguments->n_overrides, scenario, diags);
    TSIM_TRY(tsim_open_database(arena, arguments, &store, diags));
    enum tsim_status status = tsim_store_configuration(store, arena, strtoll(operand, NULL, 10), &json, diags);
    tsim_store_close(store);
    TSIM_TRY(status);
    TSIM_TRY(tsim_scenario_open_text(arena, tsim_arena_printf(arena, "run %s", operand), json, source, diags));
    return tsim_scenario_load_from(arena, source, arguments->overrides, arguments->n_overrides, scenario, diags);
}

const char *tsim_timestamp(struct tsim_arena *arena) {
    time_t now = time(NULL);
    struct tm utc;
    char text[32] = "";
    if (gmtime_r(&now, &utc))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return tsim_arena_strdup(arena, text);
}

enum tsim_status tsim_write_text(struct tsim_arena *arena, const char *file, const char *text,
                                 struct tsim_diags *diags) {
    struct tsim_text_file *out;
    TSIM_TRY(tsim_text_file_open(arena, file, &out, diags));
    tsim_text_file_put(out, text, strlen(text));
    return tsim_text_file_close(out, diags);
}

enum tsim_status tsim_write_plan(struct tsim_arena *arena, const char *file, const char *title,
                                 const struct tsim_scenario *scenario, struct tsim_diags *diags) {
    const struct tsim_value *root = tsim_value_without(arena, scenario->source->root, "sweep");
    struct tsim_scenario_source written;
    const struct tsim_scenario *again;
    TSIM_TRY(
        tsim_write_text(arena, file, tsim_arena_printf(arena, "# %s\n%s", title, tsim_block_text(arena, root)), diags));
    TSIM_TRY(tsim_scenario_open(arena, file, &written, diags));
    return tsim_scenario_load_from(arena, &written, NULL, 0, &again, diags);
}

enum tsim_status tsim_load_plan(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                const struct tsim_override *overrides, size_t n, const char *set_json,
                                const struct tsim_scenario **scenario, struct tsim_diags *diags) {
    struct tsim_json *set = tsim_json_new_parsed(set_json);
    size_t n_own = tsim_json_count(set);
    struct tsim_override *all = TSIM_NEW_ARRAY(arena, n + n_own, struct tsim_override);
    for (size_t i = 0; i < n; i++)
        all[i] = overrides[i];
    for (size_t i = 0; i < n_own; i++) {
        const char *key = tsim_json_key(set, i);
        all[n++] = (struct tsim_override){tsim_arena_strdup(arena, key),
                                          tsim_json_value_text(arena, tsim_json_find(set, key))};
    }
    tsim_json_release(set);
    return tsim_scenario_load_from(arena, source, all, n, scenario, diags);
}
