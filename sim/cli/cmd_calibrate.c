#include "cli/command.h"

#include "config/scenario.h"
#include "report/terminal/figures.h"
#include "study/judge/calibrate.h"

#include <math.h>
#include <string.h>

static const struct tsim_column VALUE_COLUMNS[] = {
    {"value", false}, {"catalogue", true}, {"fitted", true}, {"95 %, from", true}, {"to", true}};
static const struct tsim_column ROW_COLUMNS[] = {
    {"kernel", false}, {"line", true}, {"measured us", true}, {"catalogue", true}, {"fitted", true}};

__attribute__((format(printf, 3, 4))) static void add(struct tsim_arena *arena, struct tsim_text_table *table,
                                                      const char *format, ...) {
    va_list args;
    va_start(args, format);
    tsim_text_table_add(table, tsim_arena_vprintf(arena, format, args));
    va_end(args);
}

static const char *value_text(struct tsim_arena *arena, int value, double number) {
    if (isnan(number))
        return "-";
    if (value == TSIM_CALIBRATED_KERNEL_LATENCY)
        return tsim_arena_printf(arena, "%.3g us", 1e6 * number);
    return tsim_arena_printf(arena, "%.3g", number);
}

static void print_values(struct tsim_arena *arena, const struct tsim_calibration *c) {
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_text_table table;
    tsim_text_table_init(&table, arena, VALUE_COLUMNS, sizeof VALUE_COLUMNS / sizeof VALUE_COLUMNS[0]);
    for (int i = 0; i < TSIM_N_CALIBRATED; i++) {
        const struct tsim_calibration_value *value = &c->values[i];
        tsim_text_table_add(&table, tsim_calibrated_name((enum tsim_calibrated)i));
        tsim_text_table_add(&table, value_text(arena, i, value->before));
        tsim_text_table_add(&table, value->fitted ? value_text(arena, i, value->after) : "not told by these");
        tsim_text_table_add(&table, value_text(arena, i, value->low_95));
        tsim_text_table_add(&table, value_text(arena, i, value->high_95));
    }
    tsim_text_table_print(&table, &style, stdout);
}

static void print_rows(struct tsim_arena *arena, const struct tsim_calibration *c) {
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_text_table table;
    tsim_text_table_init(&table, arena, ROW_COLUMNS, sizeof ROW_COLUMNS / sizeof ROW_COLUMNS[0]);
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct tsim_kernel_row *row = &c->rows[i];
        if (row->is_copy)
            add(arena, &table, "copy %.4g bytes", row->bytes);
        else
            add(arena, &table, "gemm %.0f x %.0f x %.0f x %.0f", row->batch, row->m, row->n, row->k);
        add(arena, &table, "%d", row->line);
        add(arena, &table, "%.4g", 1e6 * row->measured_s);
        add(arena, &table, "%+.1f %%", 100.0 * (row->before_s / row->measured_s - 1.0));
        add(arena, &table, "%+.1f %%", 100.0 * (row->after_s / row->measured_s - 1.0));
    }
    putchar('\n');
    tsim_text_table_print(&table, &style, stdout);
    struct tsim_fold fold;
    fprintf(tsim_fold_open(&fold, &style, stdout),
            "\n%zu kernels: mean |error| %.1f %%, with the catalogue's values %.1f %%\n", c->n_rows,
            100.0 * c->after_frac, 100.0 * c->before_frac);
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
                                                     {NULL, "fitted_error", TSIM_FIGURE_CHANGE}};
    struct tsim_figures tables[2];
    tsim_figures_init(&tables[0], arena, "values", VALUES, sizeof VALUES / sizeof VALUES[0]);
    tsim_figures_init(&tables[1], arena, "kernels", ROWS, sizeof ROWS / sizeof ROWS[0]);
    for (int i = 0; i < TSIM_N_CALIBRATED; i++) {
        const struct tsim_calibration_value *value = &c->values[i];
        tsim_figures_add_text(&tables[0], tsim_calibrated_name((enum tsim_calibrated)i));
        tsim_figures_add(&tables[0], value->before);
        tsim_figures_add(&tables[0], value->fitted ? value->after : (double)NAN);
        tsim_figures_add(&tables[0], value->low_95);
        tsim_figures_add(&tables[0], value->high_95);
    }
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct tsim_kernel_row *row = &c->rows[i];
        tsim_figures_add_text(&tables[1], row->is_copy ? tsim_arena_printf(arena, "copy %.4g", row->bytes)
                                                       : tsim_arena_printf(arena, "gemm %.0fx%.0fx%.0fx%.0f",
                                                                           row->batch, row->m, row->n, row->k));
        tsim_figures_add(&tables[1], row->line);
        tsim_figures_add(&tables[1], row->measured_s);
        tsim_figures_add(&tables[1], row->before_s / row->measured_s - 1);
        tsim_figures_add(&tables[1], row->after_s / row->measured_s - 1);
    }
    return tsim_write_tables(arguments, tables, 2, status);
}

/* In quotes; a file's name may have some of its own. */
static const char *source_text(struct tsim_arena *arena, const char *file, size_t n_rows) {
    struct tsim_json *texts = tsim_json_new_array();
    tsim_json_text(texts, NULL, tsim_arena_printf(arena, "tsim calibrate kernels %s: %zu kernels", file, n_rows));
    const char *text = tsim_json_value_text(arena, tsim_json_at(texts, 0));
    tsim_json_release(texts);
    return text;
}

/* {value, source, status} under efficiency: of an accelerator that extends the catalogue's. */
static void write_value(FILE *out, struct tsim_arena *arena, const struct tsim_calibration *c, int i,
                        const char *file) {
    const struct tsim_calibration_value *value = &c->values[i];
    const char *name = tsim_calibrated_name((enum tsim_calibrated)i);
    double scale = i == TSIM_CALIBRATED_KERNEL_LATENCY ? 1e6 : 1.0;
    const char *unit = i == TSIM_CALIBRATED_KERNEL_LATENCY ? " us" : "";
    fprintf(out, "  %s: ", name);
    if (i == TSIM_CALIBRATED_MATRIX_SUSTAINED)
        fprintf(out, "{%s: ", tsim_precision_name(c->precision));
    fprintf(out, "{value: %.4g%s, source: %s, status: fitted", scale * value->after, unit,
            source_text(arena, file, c->n_rows));
    if (!isnan(value->low_95))
        fprintf(out, ", interval: [%.4g%s, %.4g%s]", scale * value->low_95, unit, scale * value->high_95, unit);
    fprintf(out, "}%s\n", i == TSIM_CALIBRATED_MATRIX_SUSTAINED ? "}" : "");
}

struct writing {
    struct tsim_arena *arena;
    const struct tsim_calibration *calibration;
    const char *file; /* of the measurements */
};

static enum tsim_status write_yaml(void *context, FILE *out) {
    const struct writing *writing = context;
    const struct tsim_calibration *c = writing->calibration;
    fprintf(out, "schema: tsim/accelerator/v1\nname: %s-calibrated\nextends: %s\nefficiency:\n", c->accelerator->name,
            c->accelerator->name);
    for (int i = 0; i < TSIM_N_CALIBRATED; i++)
        if (c->values[i].fitted)
            write_value(out, writing->arena, c, i, writing->file);
    return TSIM_OK;
}

static enum tsim_exit calibrate_kernels(const struct tsim_arguments *arguments) {
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_calibration calibration;
    if (arguments->n_operands > 3) {
        fputs("tsim calibrate: kernels takes one FILE and the name of one to write\n", stderr);
        return TSIM_EXIT_USAGE;
    }
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    const char *file = arguments->operands[1];
    enum tsim_exit status = tsim_exit_of(tsim_calibrate_kernels(&arena, file, &calibration, &diags));
    tsim_report_diags(arguments, &diags);
    if (status == TSIM_EXIT_OK) {
        if (!write_tables(arguments, &arena, &calibration, &status)) {
            print_values(&arena, &calibration);
            print_rows(&arena, &calibration);
        }
        status = tsim_exit_worse(status, tsim_flush_results());
        struct writing writing = {.arena = &arena, .calibration = &calibration, .file = file};
        if (arguments->n_operands > 2)
            status = tsim_exit_worse(status, tsim_write_file(arguments->operands[2], write_yaml, &writing));
    }
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    return status;
}

enum tsim_exit tsim_cmd_calibrate(const struct tsim_arguments *arguments) {
    static const enum tsim_option OF_LINKS[] = {TSIM_OPTION_OP, TSIM_OPTION_RANKS, TSIM_OPTION_OUTPUT, TSIM_OPTION_SET};
    const char *what = arguments->operands[0];
    if (strcmp(what, "kernels") == 0)
        return tsim_is_refused(arguments, what, OF_LINKS, 4) ? TSIM_EXIT_USAGE : calibrate_kernels(arguments);
    if (strcmp(what, "nccl-tests") == 0)
        return tsim_calibrate_nccl_tests(arguments);
    if (strcmp(what, "profile") == 0)
        return tsim_is_refused(arguments, what, OF_LINKS, 3) ? TSIM_EXIT_USAGE : tsim_calibrate_profile(arguments);
    fprintf(stderr, "tsim calibrate: '%s' is not known; kernels, nccl-tests and profile are\n", what);
    return TSIM_EXIT_USAGE;
}
