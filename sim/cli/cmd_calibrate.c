#include "cli/command.h"

#include "base/file_bytes.h"
#include "config/scenario.h"
#include "report/terminal/figures.h"
#include "study/judge/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct tsim_column VALUE_COLUMNS[] = {
    {"value", false}, {"catalogue", true}, {"fitted", true}, {"95 %, from", true}, {"to", true}};
static const struct tsim_column CLASS_COLUMNS[] = {{"kernels", false}, {"of them", true}, {"catalogue", true},
                                                   {"fitted", true},   {"mean", true},    {"clock MHz", true},
                                                   {"power W", true}};
static const struct tsim_column ROW_COLUMNS[] = {
    {"kernel", false}, {"line", true}, {"measured us", true}, {"catalogue", true}, {"fitted", true}};
enum { MOST_ROWS = 40 };
#define TELLING_RATIO 0.02 /* rates of specimens that differ by less are no news */

__attribute__((format(printf, 3, 4))) static void add(struct tsim_arena *arena, struct tsim_text_table *table,
                                                      const char *format, ...) {
    va_list args;
    va_start(args, format);
    tsim_text_table_add(table, tsim_arena_vprintf(arena, format, args));
    va_end(args);
}

static bool is_time(int value) {
    return value == TSIM_CALIBRATED_KERNEL_LATENCY || value == TSIM_CALIBRATED_GROUPED_LAUNCH;
}

static const char *value_text(struct tsim_arena *arena, int value, double number) {
    if (isnan(number))
        return "-";
    if (is_time(value))
        return tsim_arena_printf(arena, "%.3g us", 1e6 * number);
    return tsim_arena_printf(arena, "%.3g", number);
}

/* The table always has the four values that every accelerator has. The others follow only if they were fitted, since
 * few files determine them. */
static bool is_shown(const struct tsim_calibration *c, int value) {
    return c->values[value].fitted || value == TSIM_CALIBRATED_MATRIX_SUSTAINED ||
           value == TSIM_CALIBRATED_MATRIX_RAMP || value == TSIM_CALIBRATED_MEMORY_SUSTAINED ||
           value == TSIM_CALIBRATED_KERNEL_LATENCY;
}

static void print_values(struct tsim_arena *arena, const struct tsim_calibration *c) {
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_text_table table;
    tsim_text_table_init(&table, arena, VALUE_COLUMNS, sizeof VALUE_COLUMNS / sizeof VALUE_COLUMNS[0]);
    for (int i = 0; i < TSIM_N_CALIBRATED; i++) {
        const struct tsim_calibration_value *value = &c->values[i];
        if (!is_shown(c, i))
            continue;
        tsim_text_table_add(&table, tsim_calibrated_name((enum tsim_calibrated)i));
        tsim_text_table_add(&table, value->before > 0 ? value_text(arena, i, value->before) : "-");
        tsim_text_table_add(&table, value->fitted ? value_text(arena, i, value->after) : "not determined");
        tsim_text_table_add(&table, value_text(arena, i, value->low_95));
        tsim_text_table_add(&table, value_text(arena, i, value->high_95));
    }
    tsim_text_table_print(&table, &style, stdout);
}

static const char *mean_text(struct tsim_arena *arena, double number, double unit) {
    return isnan(number) ? "-" : tsim_arena_printf(arena, "%.0f", number / unit);
}

static void print_classes(struct tsim_arena *arena, const struct tsim_calibration *c) {
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_text_table table;
    tsim_text_table_init(&table, arena, CLASS_COLUMNS, sizeof CLASS_COLUMNS / sizeof CLASS_COLUMNS[0]);
    for (size_t i = 0; i < c->n_classes; i++) {
        const struct tsim_calibrated_class *class = &c->classes[i];
        add(arena, &table, "%s%s", class->kind, class->is_fitted ? "" : ", while cool");
        add(arena, &table, "%zu", class->n);
        add(arena, &table, "%.1f %%", 100.0 * class->before_frac);
        add(arena, &table, "%.1f %%", 100.0 * class->after_frac);
        add(arena, &table, "%+.1f %%", 100.0 * class->bias_frac);
        tsim_text_table_add(&table, mean_text(arena, class->clock_hz, 1e6));
        tsim_text_table_add(&table, mean_text(arena, class->power_w, 1));
    }
    putchar('\n');
    tsim_text_table_print(&table, &style, stdout);
}

static double fitted_error(const struct tsim_calibrated_row *row) {
    return row->after_s / row->measured->measured_s - 1.0;
}

static int by_error(const void *a, const void *b) {
    const struct tsim_calibrated_row *x = *(const struct tsim_calibrated_row *const *)a,
                                     *y = *(const struct tsim_calibrated_row *const *)b;
    double ex = fabs(fitted_error(x)), ey = fabs(fitted_error(y));
    return ex != ey ? (ex < ey ? 1 : -1) : x->measured->line - y->measured->line;
}

/* Chooses the rows to print: all, as they stand in the file, or, of many, those that were fitted and are met worst. */
static size_t rows_to_print(const struct tsim_calibration *c, const struct tsim_calibrated_row **rows) {
    size_t n = 0;
    bool is_long = c->measured.n > MOST_ROWS;
    for (size_t i = 0; i < c->measured.n; i++)
        if (!is_long || c->rows[i].is_fitted)
            rows[n++] = &c->rows[i];
    if (is_long && n > 1)
        qsort(rows, n, sizeof *rows, by_error);
    return is_long && n > MOST_ROWS ? MOST_ROWS : n;
}

static void print_rows(struct tsim_arena *arena, const struct tsim_calibration *c) {
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_text_table table;
    const struct tsim_calibrated_row **rows = TSIM_NEW_ARRAY(arena, c->measured.n, const struct tsim_calibrated_row *);
    size_t n = rows_to_print(c, rows);
    tsim_text_table_init(&table, arena, ROW_COLUMNS, sizeof ROW_COLUMNS / sizeof ROW_COLUMNS[0]);
    for (size_t i = 0; i < n; i++) {
        const struct tsim_calibrated_row *row = rows[i];
        add(arena, &table, "%s%s", row->measured->text, row->is_fitted ? "" : ", while cool");
        add(arena, &table, "%d", row->measured->line);
        add(arena, &table, "%.4g", 1e6 * row->measured->measured_s);
        add(arena, &table, "%+.1f %%", 100.0 * (row->before_s / row->measured->measured_s - 1.0));
        add(arena, &table, "%+.1f %%", 100.0 * fitted_error(row));
    }
    printf(n < c->measured.n ? "\nthe %zu that are met worst, of %zu (--csv and --json have all)\n" : "\n", n,
           c->measured.n);
    tsim_text_table_print(&table, &style, stdout);
}

/* Says how much slower or faster this machine is than the catalogue's, if the interval leaves no doubt. */
static void print_ratio(FILE *out, const struct tsim_calibration *c, enum tsim_calibrated value, const char *what) {
    const struct tsim_calibration_value *v = &c->values[value];
    bool is_within = v->low_95 <= v->before && v->before <= v->high_95; /* false if there is no interval */
    if (v->fitted && v->before > 0 && !is_within && fabs(v->after / v->before - 1) > TELLING_RATIO)
        fprintf(out, "this machine's %s %.2f of the catalogue's %s\n", what, v->after / v->before,
                c->measured.accelerator->name);
}

static void print_summary(const struct tsim_calibration *c) {
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_fold fold;
    FILE *out = tsim_fold_open(&fold, &style, stdout);
    fprintf(out, "\n%zu kernels: mean |error| %.1f %%, with the catalogue's values %.1f %%\n", c->n_fitted,
            100.0 * c->after_frac, 100.0 * c->before_frac);
    if (c->n_fitted < c->measured.n)
        fprintf(out,
                "and %zu more that were under load for less than 0.1 s, while the chip was cool: compared, not fitted; "
                "rates are those after 10 s of load\n",
                c->measured.n - c->n_fitted);
    print_ratio(out, c, TSIM_CALIBRATED_MATRIX_SUSTAINED, "products reach");
    print_ratio(out, c, TSIM_CALIBRATED_ATTENTION, "attention reaches");
    print_ratio(out, c, TSIM_CALIBRATED_MEMORY_SUSTAINED, "memory reaches");
    tsim_fold_close(&fold);
}

/* ---- for programs ---- */

static bool write_tables(const struct tsim_arguments *arguments, struct tsim_arena *arena,
                         const struct tsim_calibration *c, enum tsim_exit *status) {
    static const struct tsim_figure_column VALUES[] = {{NULL, "value", TSIM_FIGURE_TEXT},
                                                       {NULL, "catalogue", TSIM_FIGURE_NUMBER},
                                                       {NULL, "fitted", TSIM_FIGURE_NUMBER},
                                                       {NULL, "low_95", TSIM_FIGURE_NUMBER},
                                                       {NULL, "high_95", TSIM_FIGURE_NUMBER}},
                                           ROWS[] = {{NULL, "kernel", TSIM_FIGURE_TEXT},
                                                     {NULL, "line", TSIM_FIGURE_COUNT},
                                                     {NULL, "measured_s", TSIM_FIGURE_SECONDS},
                                                     {NULL, "catalogue_error", TSIM_FIGURE_CHANGE},
                                                     {NULL, "fitted_error", TSIM_FIGURE_CHANGE},
                                                     {NULL, "state", TSIM_FIGURE_TEXT}},
                                           CLASSES[] = {{NULL, "kernels", TSIM_FIGURE_TEXT},
                                                        {NULL, "state", TSIM_FIGURE_TEXT},
                                                        {NULL, "n", TSIM_FIGURE_COUNT},
                                                        {NULL, "catalogue_error", TSIM_FIGURE_CHANGE},
                                                        {NULL, "fitted_error", TSIM_FIGURE_CHANGE},
                                                        {NULL, "fitted_bias", TSIM_FIGURE_CHANGE},
                                                        {NULL, "clock_hz", TSIM_FIGURE_NUMBER},
                                                        {NULL, "power_w", TSIM_FIGURE_NUMBER}};
    struct tsim_figures tables[3];
    tsim_figures_init(&tables[0], arena, "values", VALUES, sizeof VALUES / sizeof VALUES[0]);
    tsim_figures_init(&tables[1], arena, "kernels", ROWS, sizeof ROWS / sizeof ROWS[0]);
    tsim_figures_init(&tables[2], arena, "classes", CLASSES, sizeof CLASSES / sizeof CLASSES[0]);
    for (int i = 0; i < TSIM_N_CALIBRATED; i++) {
        const struct tsim_calibration_value *value = &c->values[i];
        if (!is_shown(c, i))
            continue;
        tsim_figures_add_text(&tables[0], tsim_calibrated_name((enum tsim_calibrated)i));
        tsim_figures_add(&tables[0], value->before > 0 ? value->before : (double)NAN);
        tsim_figures_add(&tables[0], value->fitted ? value->after : (double)NAN);
        tsim_figures_add(&tables[0], value->low_95);
        tsim_figures_add(&tables[0], value->high_95);
    }
    for (size_t i = 0; i < c->measured.n; i++) {
        const struct tsim_calibrated_row *row = &c->rows[i];
        tsim_figures_add_text(&tables[1], row->measured->text);
        tsim_figures_add(&tables[1], row->measured->line);
        tsim_figures_add(&tables[1], row->measured->measured_s);
        tsim_figures_add(&tables[1], row->before_s / row->measured->measured_s - 1);
        tsim_figures_add(&tables[1], fitted_error(row));
        tsim_figures_add_text(&tables[1], row->is_fitted ? "fitted" : "cool");
    }
    for (size_t i = 0; i < c->n_classes; i++) {
        const struct tsim_calibrated_class *class = &c->classes[i];
        tsim_figures_add_text(&tables[2], class->kind);
        tsim_figures_add_text(&tables[2], class->is_fitted ? "fitted" : "cool");
        tsim_figures_add(&tables[2], (double)class->n);
        tsim_figures_add(&tables[2], class->before_frac);
        tsim_figures_add(&tables[2], class->after_frac);
        tsim_figures_add(&tables[2], class->bias_frac);
        tsim_figures_add(&tables[2], class->clock_hz);
        tsim_figures_add(&tables[2], class->power_w);
    }
    return tsim_write_tables(arguments, tables, 3, status);
}

/* Writes the source in quotes; a file's name may have quotes of its own. */
static const char *source_text(struct tsim_arena *arena, const char *file, size_t n_rows) {
    struct tsim_json *texts = tsim_json_new_array();
    tsim_json_text(texts, NULL, tsim_arena_printf(arena, "tsim calibrate kernels %s: %zu kernels", file, n_rows));
    const char *text = tsim_json_value_text(arena, tsim_json_at(texts, 0));
    tsim_json_release(texts);
    return text;
}

struct writing {
    struct tsim_arena *arena;
    const struct tsim_calibration *calibration;
    const char *file, *output; /* of the measurements, and the one that is written */
};

/* Keeps a fraction of the peak at 1 or below: a fit may find more, or its interval may reach there. */
static double writable(int value, double number) {
    return is_time(value) || value == TSIM_CALIBRATED_MATRIX_RAMP ? number : fmin(number, 1);
}

/* Writes {value, source, status} under efficiency: of an accelerator that extends the catalogue's. */
static void write_value(FILE *out, const struct writing *writing, const char *key, int i) {
    const struct tsim_calibration_value *value = &writing->calibration->values[i];
    double scale = is_time(i) ? 1e6 : 1.0;
    const char *unit = is_time(i) ? " us" : "";
    fprintf(out, "%s: {value: %.4g%s, source: %s, status: fitted", key, scale * writable(i, value->after), unit,
            source_text(writing->arena, writing->file, writing->calibration->n_fitted));
    if (!isnan(value->low_95))
        fprintf(out, ", interval: [%.4g%s, %.4g%s]", scale * writable(i, value->low_95), unit,
                scale * writable(i, value->high_95), unit);
    fputc('}', out);
}

static void write_attention(FILE *out, const struct writing *writing) {
    const struct tsim_calibration *c = writing->calibration;
    if (!c->values[TSIM_CALIBRATED_ATTENTION].fitted)
        return;
    fputs("  attention:\n    ", out);
    write_value(out, writing, tsim_flash_name(c->measured.flash), TSIM_CALIBRATED_ATTENTION);
    fputc('\n', out);
    if (!c->values[TSIM_CALIBRATED_WIDE_HEADS].fitted)
        return;
    fputs("    ", out);
    write_value(out, writing, "wide_heads", TSIM_CALIBRATED_WIDE_HEADS);
    fputc('\n', out);
}

static enum tsim_status write_yaml(void *context, FILE *out) {
    const struct writing *writing = context;
    const struct tsim_calibration *c = writing->calibration;
    const char *base = strrchr(writing->output, '/'), *name = base ? base + 1 : writing->output;
    size_t length = tsim_length_before(name, ".yaml");
    fprintf(out, "schema: tsim/accelerator/v1\nname: %.*s\nextends: %s\nefficiency:\n",
            (int)(length ? length : strlen(name)), name, c->measured.accelerator->name);
    for (int i = 0; i < TSIM_N_CALIBRATED; i++) {
        bool is_attention = i == TSIM_CALIBRATED_ATTENTION || i == TSIM_CALIBRATED_WIDE_HEADS;
        if (i == TSIM_CALIBRATED_ATTENTION)
            write_attention(out, writing);
        if (is_attention || !c->values[i].fitted || !tsim_calibrated_is_written((enum tsim_calibrated)i))
            continue;
        bool is_matrix = i == TSIM_CALIBRATED_MATRIX_SUSTAINED;
        fprintf(out, is_matrix ? "  %s: {" : "  ", tsim_calibrated_name((enum tsim_calibrated)i));
        write_value(
            out, writing,
            is_matrix ? tsim_precision_name(c->measured.precision) : tsim_calibrated_name((enum tsim_calibrated)i), i);
        fputs(is_matrix ? "}\n" : "\n", out);
    }
    return TSIM_OK;
}

/* Takes --set accelerator=ID, and nothing else. */
static bool take_accelerator(const struct tsim_arguments *arguments, const char **accelerator) {
    *accelerator = NULL;
    for (size_t i = 0; i < arguments->n_overrides; i++) {
        if (strcmp(arguments->overrides[i].path, "accelerator") != 0) {
            fprintf(stderr, "tsim calibrate: kernels takes --set accelerator=ID alone, not %s\n",
                    arguments->overrides[i].path);
            return false;
        }
        *accelerator = arguments->overrides[i].value;
    }
    return true;
}

static enum tsim_exit calibrate_kernels(const struct tsim_arguments *arguments) {
    struct tsim_calibration calibration;
    if (arguments->n_operands > 3) {
        fputs("tsim calibrate: kernels takes one FILE and the name of one to write\n", stderr);
        return TSIM_EXIT_USAGE;
    }
    const char *accelerator, *file = arguments->operands[1];
    if (!take_accelerator(arguments, &accelerator))
        return TSIM_EXIT_USAGE;
    enum tsim_exit status =
        tsim_exit_of(tsim_calibrate_kernels(arguments->arena, file, accelerator, &calibration, arguments->diags));
    tsim_report_diags(arguments, arguments->diags);
    if (status == TSIM_EXIT_OK) {
        if (!write_tables(arguments, arguments->arena, &calibration, &status)) {
            print_values(arguments->arena, &calibration);
            if (calibration.n_classes > 2)
                print_classes(arguments->arena, &calibration);
            print_rows(arguments->arena, &calibration);
            print_summary(&calibration);
        }
        status = tsim_exit_worse(status, tsim_flush_results());
        const char *output = arguments->n_operands > 2 ? arguments->operands[2] : NULL;
        struct writing writing = {arguments->arena, &calibration, file, output};
        if (output)
            status = tsim_exit_worse(status, tsim_write_file(output, write_yaml, &writing));
    }
    return status;
}

enum tsim_exit tsim_cmd_calibrate(const struct tsim_arguments *arguments) {
    static const enum tsim_option OF_LINKS[] = {TSIM_OPTION_OP, TSIM_OPTION_RANKS, TSIM_OPTION_OUTPUT, TSIM_OPTION_SET};
    const char *what = arguments->operands[0];
    if (strcmp(what, "kernels") == 0)
        return tsim_is_refused(arguments, what, OF_LINKS, 3) ? TSIM_EXIT_USAGE : calibrate_kernels(arguments);
    if (strcmp(what, "nccl-tests") == 0)
        return tsim_calibrate_nccl_tests(arguments);
    if (strcmp(what, "profile") == 0)
        return tsim_is_refused(arguments, what, OF_LINKS, 3) ? TSIM_EXIT_USAGE : tsim_calibrate_profile(arguments);
    if (strcmp(what, "intervals") == 0)
        return tsim_is_refused(arguments, what, OF_LINKS, 4) ? TSIM_EXIT_USAGE : tsim_calibrate_intervals(arguments);
    fprintf(stderr, "tsim calibrate: WHAT is kernels, nccl-tests, profile or intervals, not '%s'\n", what);
    return TSIM_EXIT_USAGE;
}
