/* The figures and charts of a scenario, a logged run or a logged sweep for other programs. */
#include "cli/command.h"

#include "base/output.h"
#include "import/launches/launch_file.h"
#include "report/export/export.h"
#include "report/page/chart.h"
#include "report/page/page.h"
#include "step/step.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct export {
    const struct tsim_arguments *arguments;
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    struct tsim_json *page;
    const struct tsim_export *text; /* one of these is NULL */
    const struct tsim_chart *chart;
    bool is_png, is_sweep;
};

/* ---- what is asked for ---- */

static bool wrong_format(const char *format) {
    fprintf(tsim_messages(), "tsim export: --format needs one of");
    for (size_t i = 0; i < TSIM_N_EXPORTS; i++)
        fprintf(tsim_messages(), " %s", TSIM_EXPORTS[i].name);
    for (size_t i = 0; i < TSIM_N_LAUNCH_FORMATS; i++)
        fprintf(tsim_messages(), " %s", TSIM_LAUNCH_FORMATS[i].name);
    fprintf(tsim_messages(), " svg png chakra, not '%s'\nTry 'tsim export --help'.\n", format);
    return false;
}

/* Comparisons and searches are on pages alone. */
static bool is_offered(const struct export *x, const struct tsim_chart *chart) {
    return chart->subject == (x->is_sweep ? TSIM_CHART_OF_SWEEP : TSIM_CHART_OF_RUN);
}

static bool choose_chart(struct export *x) {
    const char *name = x->arguments->value[TSIM_OPTION_CHART];
    if (!name)
        name = x->is_sweep ? "scaling" : "step";
    for (size_t i = 0; i < TSIM_N_CHARTS; i++)
        if (strcmp(TSIM_CHARTS[i].name, name) == 0 && is_offered(x, &TSIM_CHARTS[i]))
            x->chart = &TSIM_CHARTS[i];
    if (x->chart)
        return true;
    fprintf(tsim_messages(), "tsim export: the charts of a %s are", x->is_sweep ? "sweep" : "run");
    for (size_t i = 0; i < TSIM_N_CHARTS; i++)
        if (is_offered(x, &TSIM_CHARTS[i]))
            fprintf(tsim_messages(), " %s", TSIM_CHARTS[i].name);
    fprintf(tsim_messages(), ", not '%s'\nTry 'tsim export --help'.\n", name);
    return false;
}

/* A sweep is exported as it was logged. */
static bool is_sweep_right(const struct export *x) {
    static const enum tsim_option NOT_OF_SWEEPS[] = {TSIM_OPTION_SET, TSIM_OPTION_SEED, TSIM_OPTION_IGNORE_MEMORY};
    const char *operand = x->arguments->operands[0];
    if (!x->is_sweep)
        return true;
    if (tsim_is_run_number(operand + 6))
        return !tsim_is_refused(x->arguments, "a sweep that was logged", NOT_OF_SWEEPS,
                                sizeof NOT_OF_SWEEPS / sizeof NOT_OF_SWEEPS[0]);
    fprintf(tsim_messages(),
            "tsim export: needs the number of a sweep, as in sweep:1, not '%s'\nTry 'tsim export --help'.\n", operand);
    return false;
}

static bool choose(struct export *x) {
    static const enum tsim_option NOT_OF_TEXT[] = {TSIM_OPTION_RANKS, TSIM_OPTION_CHART};
    const char *format = x->arguments->value[TSIM_OPTION_FORMAT]  ? x->arguments->value[TSIM_OPTION_FORMAT]
                         : x->arguments->value[TSIM_OPTION_CHART] ? "svg"
                                                                  : "csv";
    char what[96];
    x->is_sweep = strncmp(x->arguments->operands[0], "sweep:", 6) == 0;
    x->is_png = strcmp(format, "png") == 0;
    bool is_chart = x->is_png || strcmp(format, "svg") == 0;
    for (size_t i = 0; i < TSIM_N_EXPORTS; i++)
        if (strcmp(TSIM_EXPORTS[i].name, format) == 0)
            x->text = &TSIM_EXPORTS[i];
    if (!is_chart && !x->text)
        return wrong_format(format);
    snprintf(what, sizeof what, "--format %s", format);
    return !tsim_is_refused(x->arguments, what, NOT_OF_TEXT, is_chart ? 1 : 2) && is_sweep_right(x) &&
           (!is_chart || choose_chart(x));
}

/* ---- the data ---- */

/* Warns that an export of a sweep has only as many points as a page: the fastest. */
static void warn_of_missing(struct export *x) {
    const struct tsim_json *sweep = tsim_json_at(tsim_json_find(x->page, "sweeps"), 0);
    double n_points = tsim_json_figure(tsim_json_at(tsim_json_find(sweep, "about"), 0), "n_points");
    size_t n = tsim_json_count(tsim_json_find(sweep, "points"));
    if (n == TSIM_PAGE_MOST_POINTS && n_points > (double)n)
        tsim_diag_hint(tsim_diags_warning(x->diags, (struct tsim_place){.file = x->arguments->operands[0]}, "",
                                          "the fastest %zu of %.0f points", n, n_points),
                       "tsim query points --csv has all of them");
}

static enum tsim_status load_sweep(struct export *x, const char *number) {
    struct tsim_store *store;
    TSIM_TRY(tsim_open_database(x->arena, x->arguments, &store, x->diags));
    enum tsim_status status = tsim_page_add_sweep(x->arena, x->page, store, strtoll(number, NULL, 10), x->diags);
    tsim_store_close(store);
    if (status == TSIM_OK)
        warn_of_missing(x);
    return status;
}

static enum tsim_status load(struct export *x) {
    const struct tsim_scenario *scenario;
    const char *operand = x->arguments->operands[0];
    if (x->is_sweep)
        return load_sweep(x, operand + 6);
    TSIM_TRY(tsim_load_operand(x->arena, x->arguments, operand, &scenario, x->diags));
    const struct tsim_page_extent extent = {.most_slices = TSIM_PAGE_MOST_SLICES,
                                            .ignore_memory = x->arguments->has[TSIM_OPTION_IGNORE_MEMORY],
                                            .lacks_advice = x->chart && strcmp(x->chart->name, "sensitivity") != 0};
    return tsim_page_add_run(x->arena, x->page, scenario, &extent, x->diags);
}

/* ---- writing ---- */

/* Starts librsvg's program, which turns the picture into pixels and writes them to `to`. Returns NULL if it cannot be
 * started. */
static FILE *start_converter(int to, pid_t *child) {
    int ends[2];
    if (pipe(ends) != 0)
        return NULL;
    *child = fork();
    if (*child == 0) {
        dup2(ends[0], STDIN_FILENO);
        dup2(to, STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execlp("rsvg-convert", "rsvg-convert", "--zoom=2", (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    FILE *stream = *child > 0 ? fdopen(ends[1], "w") : NULL;
    if (!stream)
        close(ends[1]);
    return stream;
}

static bool draw(const struct export *x, FILE *out) {
    const struct tsim_json *entry = tsim_json_at(tsim_json_find(x->page, x->is_sweep ? "sweeps" : "runs"), 0);
    if (x->chart)
        return x->chart->draw(entry, &(struct tsim_svg){out, .is_in_page = false});
    (x->is_sweep ? x->text->sweep : x->text->run)(entry, out);
    return true;
}

static enum tsim_exit nothing_to_draw(const struct export *x) {
    fprintf(tsim_messages(), "tsim export: the %s has nothing for the chart '%s' (%s)\n", x->is_sweep ? "sweep" : "run",
            x->chart->name, x->chart->what);
    return TSIM_EXIT_INVALID;
}

static enum tsim_exit draw_png(const struct export *x, FILE *to) {
    pid_t child = 0;
    int status = 0;
    fflush(to);
    signal(SIGPIPE, SIG_IGN); /* a converter that could not be started is told below */
    FILE *out = start_converter(fileno(to), &child);
    if (!out) {
        fprintf(tsim_messages(), "tsim export: error: cannot start a program: %s\n", strerror(errno));
        return TSIM_EXIT_IO;
    }
    bool is_drawn = draw(x, out);
    fclose(out);
    waitpid(child, &status, 0);
    if (!is_drawn)
        return nothing_to_draw(x);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return TSIM_EXIT_OK;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        fprintf(tsim_messages(),
                "tsim export: error: png needs the program rsvg-convert (Debian: librsvg2-bin); svg does not\n");
    else
        fprintf(tsim_messages(), "tsim export: error: rsvg-convert failed\n");
    return TSIM_EXIT_IO;
}

static enum tsim_exit draw_to(const struct export *x, FILE *out) {
    if (x->is_png)
        return draw_png(x, out);
    return draw(x, out) ? TSIM_EXIT_OK : nothing_to_draw(x);
}

static enum tsim_exit write_file(struct export *x, const char *file) {
    struct tsim_output *output;
    enum tsim_status status = tsim_output_open(x->arena, file, &output, x->diags);
    if (status == TSIM_OK) {
        enum tsim_exit code = draw_to(x, tsim_output_stream(output));
        if (code != TSIM_EXIT_OK) {
            tsim_output_discard(output);
            return code;
        }
        status = tsim_output_keep(output, x->diags);
    }
    return tsim_exit_of(status);
}

/* ---- what launches it ---- */

static enum tsim_status write_launch(void *context, FILE *out) {
    fputs(context, out);
    return TSIM_OK;
}

/* Launchers take numbers of layers: a balanced split is written as those that it comes to. */
static enum tsim_status load_launch(struct tsim_arena *arena, const struct tsim_arguments *arguments,
                                    const struct tsim_scenario **scenario, struct tsim_diags *diags) {
    struct tsim_step_result step;
    const struct tsim_diags before = *diags;
    TSIM_TRY(tsim_load_operand(arena, arguments, arguments->operands[0], scenario, diags));
    if (!(*scenario)->parallelism.balances || (*scenario)->parallelism.pipeline == 1)
        return TSIM_OK;
    const struct tsim_parallelism_spec *p = &tsim_step_begin(arena, *scenario, NULL, NULL, &step)->parallelism;
    const char *text = "";
    for (int64_t i = 0; i < tsim_n_model_parts(p); i++)
        text = tsim_arena_printf(arena, "%s%s%lld", text, i ? ", " : "", (long long)p->layers_per_chunk[i]);
    struct tsim_override *all = TSIM_NEW_ARRAY(arena, arguments->n_overrides + 1, struct tsim_override);
    for (size_t i = 0; i < arguments->n_overrides; i++)
        all[i] = arguments->overrides[i];
    all[arguments->n_overrides] =
        (struct tsim_override){"parallelism.layers_per_stage", tsim_arena_printf(arena, "[%s]", text)};
    struct tsim_arguments with = *arguments;
    with.overrides = all;
    with.n_overrides++;
    tsim_diags_take_back(diags, &before); /* its warnings come again */
    return tsim_load_operand(arena, &with, arguments->operands[0], scenario, diags);
}

static enum tsim_exit export_launch(const struct tsim_arguments *arguments, const char *format) {
    const struct tsim_scenario *scenario;
    const char *text = NULL;
    enum tsim_status status = load_launch(arguments->arena, arguments, &scenario, arguments->diags);
    if (status == TSIM_OK)
        status = tsim_launch_file(arguments->arena, format, scenario, &text, arguments->diags);
    enum tsim_exit code = tsim_exit_of(status);
    if (status == TSIM_OK && arguments->has[TSIM_OPTION_OUTPUT])
        code = tsim_write_file(arguments->value[TSIM_OPTION_OUTPUT], write_launch,
                               tsim_arena_strdup(arguments->arena, text));
    else if (status == TSIM_OK)
        fputs(text, tsim_results());
    tsim_report_diags(arguments, arguments->diags);
    return code;
}

enum tsim_exit tsim_cmd_export(const struct tsim_arguments *arguments) {
    struct export x = {.arguments = arguments, .arena = arguments->arena, .diags = arguments->diags};
    enum tsim_exit code = TSIM_EXIT_USAGE;
    const char *format = arguments->value[TSIM_OPTION_FORMAT];
    static const enum tsim_option NOT_OF_CHAKRA[] = {TSIM_OPTION_CHART},
                                  NOT_OF_LAUNCHES[] = {TSIM_OPTION_CHART, TSIM_OPTION_RANKS, TSIM_OPTION_IGNORE_MEMORY};
    if (format && strcmp(format, "chakra") == 0)
        return tsim_is_refused(arguments, "--format chakra", NOT_OF_CHAKRA, 1) ? TSIM_EXIT_USAGE
                                                                               : tsim_export_chakra(arguments);
    if (format && tsim_is_launch_format(format))
        return tsim_is_refused(arguments, "a launch file", NOT_OF_LAUNCHES, 3) ? TSIM_EXIT_USAGE
                                                                               : export_launch(arguments, format);
    if (!choose(&x))
        return code;
    x.page = tsim_page_new();
    code = tsim_exit_of(load(&x));
    if (code == TSIM_EXIT_OK)
        code = arguments->has[TSIM_OPTION_OUTPUT] ? write_file(&x, arguments->value[TSIM_OPTION_OUTPUT])
                                                  : draw_to(&x, tsim_results());
    tsim_report_diags(arguments, x.diags);
    tsim_json_release(x.page);
    return code;
}
