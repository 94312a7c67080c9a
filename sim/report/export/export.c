#include "report/export/export.h"

#include "config/scenario.h"
#include "report/terminal/table.h"
#include "results/format.h"
#include "results/outcome.h"

#include <math.h>
#include <string.h>

/* ---- figures as people read them ---- */

/* Writes a figure in the unit that people see; a number of things is written in full from 1,000 on. */
static const char *text_of(enum tsim_outcome_figure figure, double value, char *buffer, size_t size) {
    if (tsim_outcome_spec(figure)->unit->shown != TSIM_COUNT)
        return tsim_outcome_text(figure, value, buffer, size);
    if (!(fabs(value) < 1000) || value == floor(value))
        return tsim_count_text(value, buffer, size);
    snprintf(buffer, size, "%.4g", value);
    return buffer;
}

struct figure {
    enum tsim_outcome_figure figure;
    const char *title; /* NULL: a term of the step, which has a name */
};
static const struct figure RUN_FIGURES[] = {
    {TSIM_OUTCOME_ACCELERATORS, "Accelerators"},
    {TSIM_OUTCOME_PARAMETERS, "Parameters"},
    {TSIM_OUTCOME_STEP_TIME, "Step time"},
    {TSIM_OUTCOME_COMPUTE, NULL},
    {TSIM_OUTCOME_RECOMPUTE, NULL},
    {TSIM_OUTCOME_BUBBLE, NULL},
    {TSIM_OUTCOME_EXPOSED, "of it exposed communication"},
    {TSIM_OUTCOME_DATA_STALL, NULL},
    {TSIM_OUTCOME_OPTIMIZER, NULL},
    {TSIM_OUTCOME_TOKENS_PER_S, "Tokens/s"},
    {TSIM_OUTCOME_SAMPLES_PER_S, "Samples/s"},
    {TSIM_OUTCOME_MODEL_TFLOPS_PER_GPU, "Model FLOP/s per accelerator"},
    {TSIM_OUTCOME_MFU, "MFU"},
    {TSIM_OUTCOME_HFU, "HFU"},
    {TSIM_OUTCOME_MEMORY_PEAK, "Memory, fullest accelerator"},
    {TSIM_OUTCOME_MEMORY_CAPACITY, "Memory, capacity"},
    {TSIM_OUTCOME_MEAN_POWER, "Mean power"},
    {TSIM_OUTCOME_STEP_ENERGY, "Energy of a step"},
    {TSIM_OUTCOME_DAYS, "Days"},
    {TSIM_OUTCOME_ENERGY_KWH, "Energy of the run"},
    {TSIM_OUTCOME_CO2, "CO2 of the run"},
    {TSIM_OUTCOME_RENT, "Rent of the run"},
};
static const struct figure POINT_FIGURES[] = {
    {TSIM_OUTCOME_ACCELERATORS, "Accelerators"},
    {TSIM_OUTCOME_STEP_TIME, "Step time"},
    {TSIM_OUTCOME_TOKENS_PER_S, "Tokens/s"},
    {TSIM_OUTCOME_MFU, "MFU"},
    {TSIM_OUTCOME_MEMORY_PEAK, "Memory"},
    {TSIM_OUTCOME_DAYS, "Days"},
    {TSIM_OUTCOME_RENT, "Rent"},
};
enum {
    N_RUN_FIGURES = sizeof RUN_FIGURES / sizeof RUN_FIGURES[0],
    N_POINT_FIGURES = sizeof POINT_FIGURES / sizeof POINT_FIGURES[0]
};

static const char *title_of(const struct figure *figure, char *buffer, size_t size) {
    if (figure->title)
        return figure->title;
    snprintf(buffer, size, "of it %s", tsim_step_term(figure->figure)->name);
    return buffer;
}

static double of_point(const struct tsim_json *point, const struct figure *figure) {
    return tsim_json_figure(point, tsim_outcome_spec(figure->figure)->column->name);
}

/* Returns whether nothing happened there: "of it recompute 0 s". */
static bool is_idle(const char *title, double value) {
    return value == 0 && strncmp(title, "of it", 5) == 0;
}

/* ---- tables for papers ---- */

struct dialect {
    const char *begin, *after_titles, *separator, *end_of_row, *end;
    bool is_latex;
};
static const struct dialect MARKDOWN = {"", NULL, " | ", " |\n", "", false};
static const struct dialect LATEX = {
    "\\begin{tabular}{", "\\midrule\n", " & ", " \\\\\n", "\\bottomrule\n\\end{tabular}\n", true};

static void put_cell_text(const struct dialect *dialect, const char *text, FILE *out) {
    for (const char *at = text; *at; at++)
        if (dialect->is_latex && strchr("%&_#${}", *at))
            fprintf(out, "\\%c", *at);
        else if (dialect->is_latex && strchr("\\^~", *at))
            fprintf(out, "\\char%d{}", *at);
        else
            fprintf(out, !dialect->is_latex && *at == '|' ? "\\%c" : "%c", *at);
}

static void put_cell(const struct dialect *dialect, bool is_first, const char *text, FILE *out) {
    fputs(is_first ? (dialect->is_latex ? "" : "| ") : dialect->separator, out);
    put_cell_text(dialect, text, out);
}

/* Writes what stands before the titles, `n_text` columns of text first, and after them. */
static void begin_table(const struct dialect *dialect, int n_text, int n_columns, FILE *out) {
    fputs(dialect->begin, out);
    for (int i = 0; dialect->is_latex && i < n_columns; i++)
        fputc(i < n_text ? 'l' : 'r', out);
    if (dialect->is_latex)
        fputs("}\n\\toprule\n", out);
}

static void end_titles(const struct dialect *dialect, int n_text, int n_columns, FILE *out) {
    fputs(dialect->end_of_row, out);
    if (dialect->is_latex)
        fputs(dialect->after_titles, out);
    for (int i = 0; !dialect->is_latex && i < n_columns; i++)
        fputs(i == 0 ? (n_text > 0 ? "| ---" : "| ---:") : i < n_text ? " | ---" : " | ---:", out);
    if (!dialect->is_latex)
        fputs(" |\n", out);
}

static void run_table(const struct dialect *dialect, const struct tsim_json *run, FILE *out) {
    const struct tsim_json *summary = tsim_json_find(run, "summary");
    begin_table(dialect, 1, 2, out);
    put_cell(dialect, true, tsim_json_text_of(run, "name"), out);
    put_cell(dialect, false, "predicted", out);
    end_titles(dialect, 1, 2, out);
    for (int i = 0; i < N_RUN_FIGURES; i++) {
        char text[96], name[64];
        const char *title = title_of(&RUN_FIGURES[i], name, sizeof name);
        double value = tsim_json_figure(summary, tsim_outcome_spec(RUN_FIGURES[i].figure)->name);
        if (isnan(value) || is_idle(title, value))
            continue;
        put_cell(dialect, true, title, out);
        put_cell(dialect, false, text_of(RUN_FIGURES[i].figure, value, text, sizeof text), out);
        fputs(dialect->end_of_row, out);
    }
    fputs(dialect->end, out);
}

static void put_setting(const struct dialect *dialect, bool is_first, const struct tsim_json *set, const char *key,
                        FILE *out) {
    char text[40];
    const char *word = tsim_json_text_of(set, key);
    double value = tsim_json_number_of(tsim_json_find(set, key));
    if (!word && !isnan(value))
        word = tsim_double_text(value, text, sizeof text);
    put_cell(dialect, is_first, word ? word : "", out);
}

static bool has_figure(const struct tsim_json *points, const struct figure *figure) {
    for (size_t i = 0; i < tsim_json_count(points); i++)
        if (!isnan(of_point(tsim_json_at(points, i), figure)))
            return true;
    return false;
}

/* Returns an object with every member of a point except its settings, or with every setting of some point, in their
 * order; the caller releases it. Points of a list set keys of their own, and points that do not run have few figures. */
static struct tsim_json *members_of(const struct tsim_json *points, bool of_settings) {
    struct tsim_json *all = tsim_json_new_object();
    for (size_t i = 0; i < tsim_json_count(points); i++) {
        const struct tsim_json *point = tsim_json_at(points, i),
                               *from = of_settings ? tsim_json_find(point, "set") : point;
        for (size_t k = 0; k < tsim_json_count(from); k++)
            if (of_settings || strcmp(tsim_json_key(from, k), "set") != 0)
                tsim_json_bool(all, tsim_json_key(from, k), true);
    }
    return all;
}

static void point_row(const struct dialect *dialect, const struct tsim_json *points, const struct tsim_json *keys,
                      size_t i, FILE *out) {
    const struct tsim_json *point = tsim_json_at(points, i), *set = tsim_json_find(point, "set");
    bool is_first = true;
    for (size_t k = 0; k < tsim_json_count(keys); k++, is_first = false)
        put_setting(dialect, is_first, set, tsim_json_key(keys, k), out);
    for (int k = 0; k < N_POINT_FIGURES; k++) {
        char text[96];
        double value = of_point(point, &POINT_FIGURES[k]);
        if (!has_figure(points, &POINT_FIGURES[k]))
            continue;
        put_cell(dialect, is_first, isnan(value) ? "" : text_of(POINT_FIGURES[k].figure, value, text, sizeof text),
                 out);
        is_first = false;
    }
    fputs(dialect->end_of_row, out);
}

/* Makes the table of the points that ran. */
static void sweep_table(const struct dialect *dialect, const struct tsim_json *sweep, FILE *out) {
    const struct tsim_json *points = tsim_json_find(sweep, "points");
    struct tsim_json *keys = members_of(points, true);
    int n_keys = (int)tsim_json_count(keys), n_columns = n_keys;
    for (int k = 0; k < N_POINT_FIGURES; k++)
        n_columns += has_figure(points, &POINT_FIGURES[k]);
    begin_table(dialect, n_keys, n_columns, out);
    for (int k = 0; k < n_keys; k++)
        put_cell(dialect, k == 0, tsim_json_key(keys, (size_t)k), out);
    for (int k = 0, n = n_keys; k < N_POINT_FIGURES; k++)
        if (has_figure(points, &POINT_FIGURES[k]))
            put_cell(dialect, n++ == 0, POINT_FIGURES[k].title, out);
    end_titles(dialect, n_keys, n_columns, out);
    for (size_t i = 0; i < tsim_json_count(points); i++)
        if (strcmp(tsim_json_text_of(tsim_json_at(points, i), "status"), "ok") == 0)
            point_row(dialect, points, keys, i, out);
    fputs(dialect->end, out);
    tsim_json_release(keys);
}

static void run_markdown(const struct tsim_json *run, FILE *out) {
    run_table(&MARKDOWN, run, out);
}
static void sweep_markdown(const struct tsim_json *sweep, FILE *out) {
    sweep_table(&MARKDOWN, sweep, out);
}
static void run_latex(const struct tsim_json *run, FILE *out) {
    run_table(&LATEX, run, out);
}
static void sweep_latex(const struct tsim_json *sweep, FILE *out) {
    sweep_table(&LATEX, sweep, out);
}

/* ---- CSV ---- */

/* Returns whether the figure is a speed or size of tsim itself, which differs from run to run. */
static bool is_of_simulator(const struct tsim_json_leaf *leaf) {
    return strncmp(leaf->path, "simulator.", 10) == 0 && strcmp(leaf->path, "simulator.version") != 0;
}

static void csv_leaf(void *context, const struct tsim_json_leaf *leaf) {
    FILE *out = context;
    char number[40];
    if (is_of_simulator(leaf))
        return;
    tsim_csv_cell(leaf->path, false, out);
    tsim_csv_cell(leaf->text ? leaf->text : tsim_double_text(leaf->number, number, sizeof number), true, out);
}

void tsim_export_summary_csv(const struct tsim_json *summary, FILE *out) {
    fputs("figure,value\n", out);
    tsim_json_each(summary, csv_leaf, out);
}

static void run_csv(const struct tsim_json *run, FILE *out) {
    tsim_export_summary_csv(tsim_json_find(run, "summary"), out);
}

enum { TITLE_BYTES = 1024 };

/* Writes the members of a point, with settings as "set.KEY". */
static void csv_row(const struct tsim_json *columns, const struct tsim_json *point, const char *prefix, bool is_title,
                    bool is_last, FILE *out) {
    for (size_t i = 0; i < tsim_json_count(columns); i++) {
        const char *key = tsim_json_key(columns, i), *text = tsim_json_text_of(point, key);
        char number[40], title[TITLE_BYTES];
        bool ends = is_last && i + 1 == tsim_json_count(columns);
        snprintf(title, sizeof title, "%s%s", prefix, key);
        double value = tsim_json_number_of(tsim_json_find(point, key));
        if (!text && !isnan(value))
            text = tsim_double_text(value, number, sizeof number);
        tsim_csv_cell(is_title ? title : text, ends, out);
    }
}

static void sweep_csv(const struct tsim_json *sweep, FILE *out) {
    const struct tsim_json *points = tsim_json_find(sweep, "points");
    struct tsim_json *keys = members_of(points, true), *rest = members_of(points, false);
    if (tsim_json_count(points) > 0) {
        tsim_json_bool(rest, "reason", true);
        csv_row(keys, NULL, "set.", true, false, out);
        csv_row(rest, NULL, "", true, true, out);
    }
    for (size_t i = 0; i < tsim_json_count(points); i++) {
        csv_row(keys, tsim_json_find(tsim_json_at(points, i), "set"), "", false, false, out);
        csv_row(rest, tsim_json_at(points, i), "", false, true, out);
    }
    tsim_json_release(keys);
    tsim_json_release(rest);
}

/* ---- Prometheus ---- */

/* Names are [a-zA-Z_][a-zA-Z0-9_]*. */
static void put_metric_name(const char *path, FILE *out) {
    for (const char *at = path; *at; at++)
        fputc(strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *at) ? *at : '_', out);
}

static void put_label(const char *name, const char *value, bool is_first, FILE *out) {
    fputs(is_first ? "" : ",", out);
    put_metric_name(name, out);
    fputs("=\"", out);
    for (const char *at = value; *at; at++)
        if (*at == '\n')
            fputs("\\n", out);
        else
            fprintf(out, strchr("\\\"", *at) ? "\\%c" : "%c", *at);
    fputc('"', out);
}

struct gauges {
    FILE *out;
    const char *scenario;
};

static void gauge_leaf(void *context, const struct tsim_json_leaf *leaf) {
    const struct gauges *gauges = context;
    char number[40];
    if (leaf->text || strchr(leaf->path, '[') || is_of_simulator(leaf))
        return;
    fputs("# TYPE tsim_", gauges->out);
    put_metric_name(leaf->path, gauges->out);
    fputs(" gauge\ntsim_", gauges->out);
    put_metric_name(leaf->path, gauges->out);
    fputc('{', gauges->out);
    put_label("scenario", gauges->scenario, true, gauges->out);
    fprintf(gauges->out, "} %s\n", tsim_double_text(leaf->number, number, sizeof number));
}

static void run_prometheus(const struct tsim_json *run, FILE *out) {
    struct gauges gauges = {out, tsim_json_text_of(run, "name")};
    tsim_json_each(tsim_json_find(run, "summary"), gauge_leaf, &gauges);
}

static void put_point_labels(const struct tsim_json *sweep, const struct tsim_json *point, FILE *out) {
    const struct tsim_json *set = tsim_json_find(point, "set");
    put_label("scenario", tsim_json_text_of(sweep, "name"), true, out);
    for (size_t i = 0; i < tsim_json_count(set); i++) {
        char number[40];
        const char *key = tsim_json_key(set, i), *text = tsim_json_text_of(set, key);
        double value = tsim_json_number_of(tsim_json_find(set, key));
        if (!text)
            text = isnan(value) ? "" : tsim_double_text(value, number, sizeof number);
        put_label(key, text, false, out);
    }
}

static bool is_metric(const struct tsim_json *points, const char *key) {
    for (size_t i = 0; i < tsim_json_count(points) && strcmp(key, "position") != 0; i++)
        if (!isnan(tsim_json_number_of(tsim_json_find(tsim_json_at(points, i), key))))
            return true;
    return false;
}

/* Writes a sweep for Prometheus: all samples of a metric stand together, as the format asks for. */
static void sweep_prometheus(const struct tsim_json *sweep, FILE *out) {
    const struct tsim_json *points = tsim_json_find(sweep, "points");
    struct tsim_json *members = members_of(points, false);
    for (size_t k = 0; k < tsim_json_count(members); k++) {
        const char *key = tsim_json_key(members, k);
        if (!is_metric(points, key))
            continue;
        fprintf(out, "# TYPE tsim_%s gauge\n", key);
        for (size_t i = 0; i < tsim_json_count(points); i++) {
            char number[40];
            double value = tsim_json_number_of(tsim_json_find(tsim_json_at(points, i), key));
            if (isnan(value))
                continue;
            fprintf(out, "tsim_%s{", key);
            put_point_labels(sweep, tsim_json_at(points, i), out);
            fprintf(out, "} %s\n", tsim_double_text(value, number, sizeof number));
        }
    }
    tsim_json_release(members);
}

const struct tsim_export TSIM_EXPORTS[] = {
    {"csv", run_csv, sweep_csv},
    {"markdown", run_markdown, sweep_markdown},
    {"latex", run_latex, sweep_latex},
    {"prometheus", run_prometheus, sweep_prometheus},
};
const size_t TSIM_N_EXPORTS = sizeof TSIM_EXPORTS / sizeof TSIM_EXPORTS[0];
