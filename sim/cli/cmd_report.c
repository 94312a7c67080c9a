#include "cli/command.h"

#include "base/version.h"
#include "report/page/page.h"
#include "results/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct report {
    const struct tsim_arguments *arguments;
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    struct tsim_store *store;
    struct tsim_json *page;
    int64_t *runs, *sweeps;
    size_t n_runs, n_sweeps;
};

static bool parse_number(const char *text, int64_t *number) {
    char *end;
    errno = 0;
    long long parsed = strtoll(text, &end, 10);
    *number = parsed;
    return errno == 0 && end != text && *end == '\0' && parsed > 0;
}

/* "3" is a run, "sweep:3" a sweep. */
static bool parse_operands(struct report *report) {
    const struct tsim_arguments *arguments = report->arguments;
    report->runs = TSIM_NEW_ARRAY(report->arena, arguments->n_operands + 1, int64_t);
    report->sweeps = TSIM_NEW_ARRAY(report->arena, arguments->n_operands + 1, int64_t);
    for (size_t i = 0; i < arguments->n_operands; i++) {
        const char *text = arguments->operands[i];
        bool is_sweep = strncmp(text, "sweep:", 6) == 0;
        int64_t *number = is_sweep ? &report->sweeps[report->n_sweeps++] : &report->runs[report->n_runs++];
        if (!parse_number(text + (is_sweep ? 6 : 0), number)) {
            fprintf(tsim_messages(),
                    "tsim report: needs numbers of runs, as 'tsim runs' has them, or sweep:N, not '%s'\n%s"
                    "Try 'tsim report --help'.\n",
                    text,
                    tsim_is_yaml_name(text) ? "A scenario's page is made by 'tsim run SCENARIO --report FILE'.\n" : "");
            return false;
        }
    }
    if (report->n_runs > TSIM_PAGE_MOST_RUNS) {
        fprintf(tsim_messages(), "tsim report: at most %d runs on a page\n", (int)TSIM_PAGE_MOST_RUNS);
        return false;
    }
    return true;
}

/* Reads one row of text and numbers; *is_there is false if there is none. */
static enum tsim_status first_row(struct report *report, const char *select, struct tsim_query **query,
                                  bool *is_there) {
    TSIM_TRY(tsim_query_open(report->arena, report->store, select, query, report->diags));
    enum tsim_status status = tsim_query_next(*query, is_there, report->diags);
    if (status != TSIM_OK)
        tsim_query_close(*query);
    return status;
}

static enum tsim_status newest(struct report *report, const char *select, int64_t *numbers, size_t *n) {
    struct tsim_query *query;
    bool is_there;
    TSIM_TRY(first_row(report, select, &query, &is_there));
    if (is_there && tsim_query_kind(query, 0) == TSIM_QUERY_INTEGER)
        numbers[(*n)++] = tsim_query_integer(query, 0);
    tsim_query_close(query);
    return TSIM_OK;
}

static enum tsim_status nothing_there(struct report *report, const char *what, const char *hint) {
    tsim_diag_hint(tsim_diags_error(report->diags, TSIM_ERR_DB,
                                    (struct tsim_place){.file = tsim_db_file(report->arguments)}, "", "%s", what),
                   "%s", hint);
    return TSIM_ERR_DB;
}

/* The run is simulated again from the scenario that was logged with every default. */
static enum tsim_status add_run(struct report *report, int64_t run_id) {
    struct tsim_arena *arena = report->arena;
    struct tsim_query *query;
    bool is_there;
    const char *select = tsim_arena_printf(
        arena, "SELECT resolved_json, version, simulated FROM runs WHERE run_id = %lld", (long long)run_id);
    TSIM_TRY(first_row(report, select, &query, &is_there));
    if (!is_there) {
        tsim_query_close(query);
        return nothing_there(report, tsim_arena_printf(arena, "there is no run %lld", (long long)run_id),
                             "'tsim runs' lists the runs and sweeps that there are");
    }
    const char *texts[2]; /* not NULL in tables of ours */
    for (int i = 0; i < 2; i++)
        texts[i] = tsim_arena_strdup(arena, tsim_query_text(query, i) ? tsim_query_text(query, i) : "");
    const char *text = texts[0], *version = texts[1];
    bool is_simulated = tsim_query_integer(query, 2) != 0;
    tsim_query_close(query);
    const char *name = tsim_arena_printf(arena, "run %lld", (long long)run_id);
    if (strcmp(version, TSIM_VERSION) != 0)
        tsim_diags_warning(report->diags, (struct tsim_place){.file = name}, "",
                           "logged by tsim %s, and simulated again by tsim %s", version, TSIM_VERSION);
    struct tsim_scenario_source *source = TSIM_NEW(arena, struct tsim_scenario_source);
    const struct tsim_scenario *scenario;
    TSIM_TRY(tsim_scenario_open_text(arena, name, text, source, report->diags));
    TSIM_TRY(tsim_scenario_load_from(arena, source, NULL, 0, &scenario, report->diags));
    const struct tsim_logged logged = {.run_id = run_id, .file = tsim_db_file(report->arguments)};
    const struct tsim_page_extent extent = {.logged = &logged,
                                            .most_slices = TSIM_PAGE_MOST_SLICES / (int32_t)report->n_runs,
                                            .ignore_memory = is_simulated};
    return tsim_page_add_run(arena, report->page, scenario, &extent, report->diags);
}

static enum tsim_status fill(struct report *report) {
    TSIM_TRY(tsim_open_database(report->arena, report->arguments, &report->store, report->diags));
    if (report->arguments->n_operands == 0) {
        TSIM_TRY(newest(report, "SELECT max(run_id) FROM runs", report->runs, &report->n_runs));
        TSIM_TRY(newest(report, "SELECT max(sweep_id) FROM sweeps", report->sweeps, &report->n_sweeps));
    }
    if (report->n_runs + report->n_sweeps == 0)
        return nothing_there(report, "no runs and no sweeps yet", "'tsim run' and 'tsim sweep' log some");
    for (size_t i = 0; i < report->n_runs; i++)
        TSIM_TRY(add_run(report, report->runs[i]));
    for (size_t i = 0; i < report->n_sweeps; i++)
        TSIM_TRY(tsim_page_add_sweep(report->arena, report->page, report->store, report->sweeps[i], report->diags));
    return TSIM_OK;
}

static enum tsim_status write_page(void *context, FILE *out) {
    tsim_page_write(context, out);
    return TSIM_OK;
}

enum tsim_exit tsim_write_page(const struct tsim_arguments *arguments, const char *file, struct tsim_json *page) {
    if (arguments->answer && arguments->answer->view) {
        (arguments->answer->is_page ? tsim_page_write : tsim_page_write_view)(page, arguments->answer->view);
        return TSIM_EXIT_OK;
    }
    return tsim_write_file(file, write_page, page);
}

enum tsim_exit tsim_write_sweep_page(struct tsim_arena *arena, const struct tsim_arguments *arguments,
                                     struct tsim_store *store, int64_t sweep_id) {
    struct tsim_json *page = tsim_page_new();
    enum tsim_exit code = tsim_exit_of(tsim_page_add_sweep(arena, page, store, sweep_id, arguments->diags));
    tsim_report_diags(arguments, arguments->diags);
    if (code == TSIM_EXIT_OK)
        code = tsim_write_page(arguments, arguments->value[TSIM_OPTION_REPORT], page);
    tsim_json_release(page);
    return code;
}

static enum tsim_exit write(const struct report *report) {
    const char *file = report->arguments->value[TSIM_OPTION_OUTPUT];
    if (!file)
        file = "report.html";
    enum tsim_exit status = tsim_write_page(report->arguments, file, report->page);
    if (status == TSIM_EXIT_OK && !report->arguments->has[TSIM_OPTION_QUIET])
        printf("%s: %zu run%s, %zu sweep%s\n", file, report->n_runs, report->n_runs == 1 ? "" : "s", report->n_sweeps,
               report->n_sweeps == 1 ? "" : "s");
    return status;
}

enum tsim_exit tsim_cmd_report(const struct tsim_arguments *arguments) {
    struct report report = {.arguments = arguments, .arena = arguments->arena, .diags = arguments->diags};
    enum tsim_exit status = TSIM_EXIT_USAGE;
    report.page = tsim_page_new();
    if (parse_operands(&report)) {
        status = tsim_exit_of(fill(&report));
        tsim_report_diags(arguments, report.diags);
    }
    if (status == TSIM_EXIT_OK)
        status = tsim_exit_worse(write(&report), tsim_flush_results());
    tsim_store_close(report.store);
    tsim_json_release(report.page);
    return status;
}
