#include "cli/command.h"

#include "base/version.h"
#include "cli/search_bar.h"
#include "report/terminal/plan_output.h"
#include "report/terminal/plot.h"
#include "report/terminal/table.h"
#include "results/format.h"
#include "study/curves/scale.h"

#include <math.h>
#include <string.h>

static const struct tsim_column CSV_COLUMNS[] = {
    {"accelerators", true}, {"global_batch_size", true}, {"status", false},
    {"reason", false},      {"step_time_s", true},       {"tokens_per_s", true},
    {"speedup", true},      {"efficiency", true},        {"mfu", true},
    {"cause", false},       {"excess_s", true},          {"share", true},
    {"best_plan", false},   {"best_step_time_s", true},
};
enum { CSV_RATE_COLUMN = 5, N_BEST_CSV_COLUMNS = 2 }; /* these are the last, with --replan */
enum { N_CSV_COLUMNS = sizeof CSV_COLUMNS / sizeof CSV_COLUMNS[0], MOST_COLUMNS = 12 };

struct run {
    const struct tsim_arguments *arguments;
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    struct tsim_scenario_source source;
    struct tsim_store *store;
    struct tsim_scale scale;
    bool is_of_samples;  /* rates of the table: the model has no tokens */
    const char *devices; /* the word for several accelerators */
};

/* A curve without a point is no result. */
static enum tsim_exit judge(const struct tsim_scale *scale) {
    enum tsim_exit code = TSIM_EXIT_INVALID;
    for (size_t i = 0; i < scale->n_rows; i++) {
        if (scale->rows[i].point.status == TSIM_POINT_OK)
            return TSIM_EXIT_OK;
        if (scale->rows[i].point.status == TSIM_POINT_DOES_NOT_FIT)
            code = TSIM_EXIT_DOES_NOT_FIT;
    }
    return code;
}

/* ---- the table ---- */

static void add_figure(struct tsim_text_table *table, double value, const char *(*format)(double, char *, size_t)) {
    char text[96];
    tsim_text_table_add(table, isnan(value) ? "-" : format(value, text, sizeof text));
}

static const char *seconds_text(double value, char *buffer, size_t size) {
    return tsim_quantity_human(value, TSIM_TIME_S, buffer, size);
}

static const char *rate_text(double value, char *buffer, size_t size) {
    return tsim_quantity_human(value, TSIM_COUNT, buffer, size);
}

static const char *factor_text(double value, char *buffer, size_t size) {
    snprintf(buffer, size, "%.2f", value);
    return buffer;
}

static void add_interval(struct tsim_text_table *table, const double *value) {
    char text[96];
    tsim_text_table_add(
        table, tsim_interval_text(value[TSIM_OUTCOME_STEP_LOW], value[TSIM_OUTCOME_STEP_HIGH], text, sizeof text));
}

static double rate_of(const struct run *run, const struct tsim_scale_row *row) {
    return row->point.outcome.value[run->is_of_samples ? TSIM_OUTCOME_SAMPLES_PER_S : TSIM_OUTCOME_TOKENS_PER_S];
}

static size_t n_that_run(const struct tsim_scale *scale) {
    size_t n = 0;
    for (size_t i = 0; i < scale->n_rows; i++)
        n += scale->rows[i].point.status == TSIM_POINT_OK;
    return n;
}

static bool all_run(const struct tsim_scale *scale) {
    return n_that_run(scale) == scale->n_rows;
}

/* "pipeline bubble": a table has no room for articles. */
static const char *cause_text(enum tsim_outcome_figure term) {
    const char *cause = tsim_step_term(term)->cause;
    return strncmp(cause, "the ", 4) == 0 ? cause + 4 : cause;
}

static size_t fill_columns(const struct run *run, struct tsim_column columns[MOST_COLUMNS]) {
    static const struct tsim_column REST[] = {
        {"speed-up", true}, {"efficiency", true}, {"MFU", true}, {"lost most to", false}};
    size_t n = 0;
    columns[n++] = (struct tsim_column){run->devices, true};
    columns[n++] = (struct tsim_column){"batch", true};
    if (!all_run(&run->scale))
        columns[n++] = (struct tsim_column){"status", false};
    columns[n++] = (struct tsim_column){"step", true};
    columns[n++] = (struct tsim_column){"90 %", true};
    columns[n++] = (struct tsim_column){run->is_of_samples ? "samples/s" : "tokens/s", true};
    for (size_t i = 0; i < sizeof REST / sizeof REST[0]; i++)
        columns[n++] = REST[i];
    return n;
}

static void add_row(struct run *run, struct tsim_text_table *table, const struct tsim_scale_row *row) {
    const double *value = row->point.outcome.value;
    add_figure(table, (double)row->n_accelerators, tsim_count_text);
    add_figure(table, (double)row->global_batch_size, tsim_count_text);
    if (!all_run(&run->scale))
        tsim_text_table_add(table, tsim_point_status_name(row->point.status));
    add_figure(table, value[TSIM_OUTCOME_STEP_TIME], seconds_text);
    add_interval(table, value);
    add_figure(table, rate_of(run, row), rate_text);
    add_figure(table, row->speedup, factor_text);
    add_figure(table, row->efficiency_frac, tsim_percent_text);
    add_figure(table, value[TSIM_OUTCOME_MFU], tsim_percent_text);
    if (row->has_cause)
        tsim_text_table_add(
            table, tsim_arena_printf(run->arena, "%s (%.0f %%)", cause_text(row->cause), 100 * row->share_frac));
    else
        tsim_text_table_add(table, row->point.reason);
}

static void print_knee(struct run *run, const struct tsim_style *style, FILE *out) {
    const struct tsim_scale *scale = &run->scale;
    double limit_frac = run->arguments->until_efficiency_frac;
    char excess[32], limit[32], count[96];
    if (limit_frac > 0 && scale->has_last_above)
        fprintf(out, "\nefficiency is at least %s up to %s %s\n", tsim_percent_text(limit_frac, limit, sizeof limit),
                tsim_count_text((double)scale->rows[scale->last_above].n_accelerators, count, sizeof count),
                run->devices);
    if (!scale->has_knee) {
        fprintf(out, "\nno knee: %s\n",
                n_that_run(scale) < 2 ? "it takes two counts that run"
                : limit_frac > 0      ? "no count is below the limit"
                                      : "the curve bends nowhere");
        return;
    }
    fputc('\n', out);
    tsim_text_wrap(
        out, style, 0,
        tsim_arena_printf(
            run->arena, "knee %s %s %s: %s, %s takes %s more of a step than with perfect scaling, %.0f %% of the loss",
            limit_frac > 0 ? "at" : "after",
            tsim_count_text((double)scale->rows[scale->knee].n_accelerators, count, sizeof count), run->devices,
            limit_frac > 0 ? "there" : "at the next count", tsim_step_term(scale->knee_cause)->cause,
            seconds_text(scale->knee_excess_s, excess, sizeof excess), 100 * scale->knee_share_frac));
}

static double best_rate_of(const struct run *run, const struct tsim_scale_row *row) {
    return row->best ? row->best->point.outcome
                           .value[run->is_of_samples ? TSIM_OUTCOME_SAMPLES_PER_S : TSIM_OUTCOME_TOKENS_PER_S]
                     : (double)NAN;
}

/* Prints the best plan of each count, and how much faster it is than the given plan. */
static void print_best(struct run *run, const struct tsim_style *style) {
    const struct tsim_column columns[] = {{run->devices, true}, {"best plan", false}, {"micro-batch", true},
                                          {"step", true},       {"90 %", true},       {"as given", true},
                                          {"efficiency", true}};
    enum { N_COLUMNS = sizeof columns / sizeof columns[0] };
    struct tsim_text_table table;
    tsim_text_table_init(&table, run->arena, columns, N_COLUMNS);
    for (size_t i = 0; i < run->scale.n_rows; i++) {
        const struct tsim_scale_row *row = &run->scale.rows[i];
        add_figure(&table, (double)row->n_accelerators, tsim_count_text);
        if (!row->best) {
            tsim_text_table_add(&table, "none fits");
            for (int column = 2; column < N_COLUMNS; column++)
                tsim_text_table_add(&table, "-");
            continue;
        }
        const double *value = row->best->point.outcome.value;
        tsim_text_table_add(&table, tsim_plan_text(run->arena, row->best));
        add_figure(&table, (double)row->best->choice.value[TSIM_PLAN_MICRO_BATCH], tsim_count_text);
        add_figure(&table, value[TSIM_OUTCOME_STEP_TIME], seconds_text);
        add_interval(&table, value);
        add_figure(&table, rate_of(run, row) / best_rate_of(run, row), tsim_percent_text);
        add_figure(&table, row->best_efficiency_frac, tsim_percent_text);
    }
    fputc('\n', stdout);
    tsim_text_wrap(
        stdout, style, 0,
        "the best plan at each count that fits even with a higher peak than predicted, and how much of its rate the "
        "plan as given reaches");
    fputc('\n', stdout);
    tsim_text_table_print(&table, style, stdout);
}

/* Prints throughput over the count, with dots for what it would be at the first count's efficiency and a line at the
 * knee; the best plans' curve is above it. */
static void print_curve(struct run *run, const struct tsim_style *style) {
    const struct tsim_scale *scale = &run->scale;
    double *x = TSIM_NEW_ARRAY(run->arena, scale->n_rows, double),
           *y = TSIM_NEW_ARRAY(run->arena, scale->n_rows, double),
           *ideal = TSIM_NEW_ARRAY(run->arena, scale->n_rows, double),
           *best = TSIM_NEW_ARRAY(run->arena, scale->n_rows, double);
    for (size_t i = 0; i < scale->n_rows; i++) {
        const struct tsim_scale_row *row = &scale->rows[i];
        x[i] = (double)row->n_accelerators;
        y[i] = rate_of(run, row);
        ideal[i] = y[i] / row->efficiency_frac;
        best[i] = best_rate_of(run, row);
    }
    const struct tsim_plot_curve curves[] = {{y, false}, {ideal, true}, {best, false}};
    fputc('\n', stdout);
    tsim_plot_print(stdout, style,
                    &(struct tsim_plot){.x = x,
                                        .n = scale->n_rows,
                                        .curves = curves,
                                        .n_curves = run->arguments->has[TSIM_OPTION_REPLAN] ? 3 : 2,
                                        .unit = run->is_of_samples ? "samples/s" : "tokens/s",
                                        .mark = scale->has_knee ? scale->knee : scale->n_rows});
}

static void print_table(struct run *run) {
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_text_table table;
    struct tsim_column columns[MOST_COLUMNS];
    struct tsim_fold fold;
    tsim_text_table_init(&table, run->arena, columns, fill_columns(run, columns));
    for (size_t i = 0; i < run->scale.n_rows; i++)
        add_row(run, &table, &run->scale.rows[i]);
    printf("%s scaling: %s\n\n", run->scale.is_weak ? "weak" : "strong",
           run->scale.is_weak ? "the batch per accelerator stays" : "the global batch stays");
    tsim_text_table_print(&table, &style, stdout);
    bool runs = judge(&run->scale) == TSIM_EXIT_OK;
    if (runs) {
        print_knee(run, &style, tsim_fold_open(&fold, &style, stdout));
        tsim_fold_close(&fold);
    }
    if (run->arguments->has[TSIM_OPTION_REPLAN]) /* useful above all if the given plan runs at no count */
        print_best(run, &style);
    if (runs)
        print_curve(run, &style);
}

/* ---- CSV and JSON ---- */

static void add_exact(struct tsim_text_table *table, double value) {
    char text[40];
    tsim_text_table_add(table, isnan(value) ? NULL : tsim_double_text(value, text, sizeof text));
}

static void print_csv(struct run *run) {
    struct tsim_text_table table;
    struct tsim_column columns[N_CSV_COLUMNS];
    memcpy(columns, CSV_COLUMNS, sizeof columns);
    if (run->is_of_samples)
        columns[CSV_RATE_COLUMN].title = "samples_per_s";
    bool is_replanned = run->arguments->has[TSIM_OPTION_REPLAN];
    tsim_text_table_init(&table, run->arena, columns, N_CSV_COLUMNS - (is_replanned ? 0 : N_BEST_CSV_COLUMNS));
    for (size_t i = 0; i < run->scale.n_rows; i++) {
        const struct tsim_scale_row *row = &run->scale.rows[i];
        add_exact(&table, (double)row->n_accelerators);
        add_exact(&table, (double)row->global_batch_size);
        tsim_text_table_add(&table, tsim_point_status_name(row->point.status));
        tsim_text_table_add(&table, row->point.reason);
        add_exact(&table, row->point.outcome.value[TSIM_OUTCOME_STEP_TIME]);
        add_exact(&table, rate_of(run, row));
        add_exact(&table, row->speedup);
        add_exact(&table, row->efficiency_frac);
        add_exact(&table, row->point.outcome.value[TSIM_OUTCOME_MFU]);
        tsim_text_table_add(&table, row->has_cause ? tsim_step_term(row->cause)->word : NULL);
        add_exact(&table, row->has_cause ? row->excess_s : (double)NAN);
        add_exact(&table, row->has_cause ? row->share_frac : (double)NAN);
        if (!is_replanned)
            continue;
        tsim_text_table_add(&table, row->best ? tsim_plan_text(run->arena, row->best) : NULL);
        add_exact(&table, row->best ? row->best->point.outcome.value[TSIM_OUTCOME_STEP_TIME] : (double)NAN);
    }
    tsim_text_table_print_csv(&table, stdout);
}

static void add_cause(struct tsim_json *object, enum tsim_outcome_figure cause, double excess_s, double share_frac) {
    tsim_json_text(object, "cause", tsim_step_term(cause)->word);
    tsim_json_number(object, "excess_s", excess_s);
    tsim_json_number(object, "share", share_frac);
}

static void add_best(struct run *run, struct tsim_json *object, const struct tsim_scale_row *row) {
    tsim_json_text(object, "plan", tsim_plan_text(run->arena, row->best));
    tsim_json_parsed(object, "set", row->best->set_json);
    tsim_json_number(object, "efficiency", row->best_efficiency_frac);
    tsim_outcome_json(&row->best->point.outcome, tsim_json_object(object, "summary"));
}

static struct tsim_json *scale_json(struct run *run) {
    const struct tsim_scale *scale = &run->scale;
    struct tsim_json *root = tsim_json_new_object();
    tsim_json_text(root, "scaling", scale->is_weak ? "weak" : "strong");
    struct tsim_json *rows = tsim_json_array(root, "rows");
    for (size_t i = 0; i < scale->n_rows; i++) {
        const struct tsim_scale_row *row = &scale->rows[i];
        struct tsim_json *object = tsim_json_object(rows, NULL);
        tsim_json_integer(object, "accelerators", row->n_accelerators);
        tsim_json_integer(object, "global_batch_size", row->global_batch_size);
        tsim_json_text(object, "status", tsim_point_status_name(row->point.status));
        tsim_json_text(object, "reason", row->point.reason[0] ? row->point.reason : NULL);
        tsim_json_number(object, "speedup", row->speedup);
        tsim_json_number(object, "efficiency", row->efficiency_frac);
        if (row->has_cause)
            add_cause(object, row->cause, row->excess_s, row->share_frac);
        if (!isnan(row->point.outcome.value[TSIM_OUTCOME_FITS]))
            tsim_outcome_json(&row->point.outcome, tsim_json_object(object, "summary"));
        if (row->best)
            add_best(run, tsim_json_object(object, "best"), row);
    }
    if (scale->has_knee) {
        struct tsim_json *knee = tsim_json_object(root, "knee");
        tsim_json_integer(knee, "accelerators", scale->rows[scale->knee].n_accelerators);
        tsim_json_number(knee, "efficiency", scale->rows[scale->knee].efficiency_frac);
        add_cause(knee, scale->knee_cause, scale->knee_excess_s, scale->knee_share_frac);
    }
    if (scale->has_last_above)
        tsim_json_integer(root, "efficient_up_to", scale->rows[scale->last_above].n_accelerators);
    tsim_json_text(tsim_json_object(root, "simulator"), "version", TSIM_VERSION);
    return root;
}

/* ---- the command ---- */

static enum tsim_status study(struct run *run) {
    const struct tsim_arguments *arguments = run->arguments;
    struct tsim_search_bar bar;
    tsim_search_bar_init(&bar, arguments);
    const struct tsim_scale_options options = {
        .counts = arguments->gpus,
        .n_counts = arguments->n_gpus,
        .is_weak = arguments->has[TSIM_OPTION_WEAK],
        .until_efficiency_frac = arguments->until_efficiency_frac,
        .n_threads = tsim_n_jobs(arguments),
        .is_replanned = arguments->has[TSIM_OPTION_REPLAN],
        .report = tsim_search_bar_show,
        .context = &bar,
    };
    const char *file = arguments->has[TSIM_OPTION_NO_DB] ? NULL : tsim_db_file(arguments);
    const struct tsim_sweep sweep = {
        .source = &run->source,
        .overrides = arguments->overrides,
        .n_overrides = arguments->n_overrides,
        .ignore_memory = arguments->has[TSIM_OPTION_IGNORE_MEMORY],
        .n_shards = 1,
        .started_at = tsim_timestamp(run->arena),
    };
    TSIM_TRY(tsim_scenario_open(run->arena, arguments->operands[0], &run->source, run->diags));
    struct tsim_sweep_traits traits;
    TSIM_TRY(tsim_sweep_traits(run->arena, &sweep, &traits, run->diags));
    run->is_of_samples = traits.is_of_samples;
    run->devices = tsim_arena_printf(run->arena, "%ss", traits.device);
    TSIM_TRY(tsim_store_open(run->arena, file ? file : "", TSIM_STORE_WRITE, &run->store, run->diags));
    enum tsim_status status = tsim_scale_run(run->arena, &sweep, &options, run->store, file, &run->scale, run->diags);
    tsim_search_bar_clear(&bar);
    return status;
}

static enum tsim_exit write_results(struct run *run) {
    enum tsim_exit code = judge(&run->scale);
    if (run->arguments->has[TSIM_OPTION_CSV])
        print_csv(run);
    else if (!tsim_is_json_on_stdout(run->arguments))
        print_table(run);
    if (run->arguments->has[TSIM_OPTION_JSON])
        code = tsim_exit_worse(code, tsim_write_json(run->arguments, scale_json(run)));
    if (run->arguments->has[TSIM_OPTION_REPORT])
        code =
            tsim_exit_worse(code, tsim_write_sweep_page(run->arena, run->arguments, run->store, run->scale.sweep_id));
    return code;
}

enum tsim_exit tsim_cmd_scale(const struct tsim_arguments *arguments) {
    struct run run = {.arguments = arguments, .arena = arguments->arena, .diags = arguments->diags};
    enum tsim_exit code = tsim_exit_of(study(&run));
    tsim_report_diags(arguments, run.diags);
    if (code == TSIM_EXIT_OK)
        code = run.scale.is_interrupted ? TSIM_EXIT_INTERRUPTED : write_results(&run);
    tsim_store_close(run.store);
    return code;
}
