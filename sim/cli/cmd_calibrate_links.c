#include "cli/command.h"

#include "base/file_bytes.h"
#include "report/terminal/figures.h"
#include "study/judge/calibrate_links.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct tsim_column VALUE_COLUMNS[] = {{"value", false}, {"catalogue", true},  {"fitted", true},
                                                   {"change", true}, {"95 %, from", true}, {"to", true}};
static const struct tsim_column ROW_COLUMNS[] = {{"collective", false}, {"ranks", true},     {"bytes", true},
                                                 {"measured us", true}, {"catalogue", true}, {"fitted", true},
                                                 {"algorithm", false}};

/* ---- what is asked ---- */

static bool read_op(const char *text, struct tsim_nccl_hints *hints) {
    for (int i = 0; i < TSIM_N_COLLECTIVE_OPS; i++)
        if (strcmp(tsim_collective_op_name((enum tsim_collective_op)i), text) == 0) {
            hints->op = (enum tsim_collective_op)i;
            hints->has_op = true;
        }
    if (!hints->has_op)
        fprintf(stderr, "tsim calibrate: --op %s: not a collective\n", text);
    return hints->has_op;
}

static bool read_hints(const struct tsim_arguments *arguments, struct tsim_nccl_hints *hints) {
    const char *ranks = arguments->value[TSIM_OPTION_RANKS];
    if (ranks) {
        char *end;
        long n = strtol(ranks, &end, 10);
        if (*end != '\0' || n < 2 || n > 1000000) {
            fprintf(stderr, "tsim calibrate: --ranks %s: not a number from 2 to 1000000\n", ranks);
            return false;
        }
        hints->n_ranks = (int32_t)n;
    }
    return !arguments->value[TSIM_OPTION_OP] || read_op(arguments->value[TSIM_OPTION_OP], hints);
}

static bool read_machine(const struct tsim_arguments *arguments, const char **node, const char **fabric) {
    for (size_t i = 0; i < arguments->n_overrides; i++) {
        const struct tsim_override *override = &arguments->overrides[i];
        if (strcmp(override->path, "cluster.node") == 0)
            *node = override->value;
        else if (strcmp(override->path, "cluster.fabric") == 0)
            *fabric = override->value;
        else {
            fprintf(stderr, "tsim calibrate: --set %s: only cluster.node and cluster.fabric count here\n",
                    override->path);
            return false;
        }
    }
    return true;
}

static enum tsim_status read_runs(struct tsim_arena *arena, const struct tsim_arguments *arguments,
                                  const struct tsim_nccl_hints *hints, struct tsim_nccl_run *runs,
                                  struct tsim_diags *diags) {
    enum tsim_status first = TSIM_OK;
    for (size_t i = 1; i < arguments->n_operands; i++) {
        struct tsim_file_bytes bytes;
        enum tsim_status status = tsim_file_read(arena, arguments->operands[i], TSIM_NCCL_TESTS_MAX_BYTES,
                                                 "what nccl-tests prints", &bytes, diags);
        if (status == TSIM_OK) {
            status = tsim_nccl_tests_read(arena, bytes.file, bytes.text, bytes.size, hints, &runs[i - 1], diags);
            tsim_heap_free(bytes.text);
        }
        first = first == TSIM_OK ? status : first;
    }
    return first;
}

/* ---- what is found ---- */

static const char *value_text(struct tsim_arena *arena, enum tsim_link_value value, double number) {
    if (isnan(number))
        return "-";
    if (value == TSIM_LINK_EFFICIENCY)
        return tsim_arena_printf(arena, "%.4g", number);
    if (value == TSIM_LINK_LATENCY || value == TSIM_LINK_FABRIC_LATENCY)
        return tsim_arena_printf(arena, "%.4g us", 1e6 * number);
    return tsim_arena_printf(arena, "%.4g GB/s", number / 1e9);
}

/* Returns the node or the fabric that the value is of; NULL: there is no fabric. */
static const char *owner_of(const struct tsim_link_calibration *c, enum tsim_link_value which) {
    if (tsim_link_value_is_node(which))
        return c->node->name;
    return c->fabric ? c->fabric->name : NULL;
}

static void print_values(struct tsim_arena *arena, const struct tsim_link_calibration *c) {
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_text_table table;
    tsim_text_table_init(&table, arena, VALUE_COLUMNS, sizeof VALUE_COLUMNS / sizeof VALUE_COLUMNS[0]);
    for (int i = 0; i < TSIM_N_LINK_VALUES; i++) {
        enum tsim_link_value which = (enum tsim_link_value)i;
        const struct tsim_link_fitted *value = &c->values[i];
        if (!owner_of(c, which))
            continue;
        tsim_text_table_add(&table, tsim_arena_printf(arena, "%s %s", owner_of(c, which), tsim_link_value_name(which)));
        tsim_text_table_add(&table, value_text(arena, which, value->before));
        tsim_text_table_add(&table, value->fitted ? value_text(arena, which, value->after) : "not determined");
        tsim_text_table_add(&table, value->fitted
                                        ? tsim_arena_printf(arena, "%+.1f %%", 100 * (value->after / value->before - 1))
                                        : "-");
        tsim_text_table_add(&table, value_text(arena, which, value->low_95));
        tsim_text_table_add(&table, value_text(arena, which, value->high_95));
    }
    tsim_text_table_print(&table, &style, stdout);
}

static void print_rows(struct tsim_arena *arena, const struct tsim_link_calibration *c) {
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_text_table table;
    tsim_text_table_init(&table, arena, ROW_COLUMNS, sizeof ROW_COLUMNS / sizeof ROW_COLUMNS[0]);
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct tsim_link_row *row = &c->rows[i];
        double measured_s = row->measured.measured_s;
        tsim_text_table_add(&table, tsim_collective_op_name(row->run->op));
        tsim_text_table_add(&table, tsim_arena_printf(arena, "%d", row->run->n_ranks));
        tsim_text_table_add(&table, tsim_arena_printf(arena, "%.0f", row->measured.bytes));
        tsim_text_table_add(&table, tsim_arena_printf(arena, "%.5g", 1e6 * measured_s));
        tsim_text_table_add(&table, tsim_arena_printf(arena, "%+.1f %%", 100 * (row->before_s / measured_s - 1)));
        tsim_text_table_add(&table, tsim_arena_printf(arena, "%+.1f %%", 100 * (row->after_s / measured_s - 1)));
        tsim_text_table_add(&table, row->is_left_out ? "left out: far off" : tsim_algorithm_name(row->algorithm));
    }
    putchar('\n');
    tsim_text_table_print(&table, &style, stdout);
    struct tsim_fold fold;
    fprintf(tsim_fold_open(&fold, &style, stdout),
            "\n%zu sizes: mean |error| %.1f %%, with the catalogue's values %.1f %%\n", c->n_rows - c->n_left_out,
            100 * c->after_frac, 100 * c->before_frac);
    tsim_fold_close(&fold);
}

static void fill_values(struct tsim_figures *table, const struct tsim_link_calibration *c) {
    for (int i = 0; i < TSIM_N_LINK_VALUES; i++) {
        enum tsim_link_value which = (enum tsim_link_value)i;
        const struct tsim_link_fitted *value = &c->values[i];
        if (!owner_of(c, which))
            continue;
        tsim_figures_add_text(table, owner_of(c, which));
        tsim_figures_add_text(table, tsim_link_value_name(which));
        tsim_figures_add(table, value->before);
        tsim_figures_add(table, value->fitted ? value->after : (double)NAN);
        tsim_figures_add(table, value->low_95);
        tsim_figures_add(table, value->high_95);
    }
}

static void fill_rows(struct tsim_figures *table, const struct tsim_link_calibration *c) {
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct tsim_link_row *row = &c->rows[i];
        double measured_s = row->measured.measured_s;
        tsim_figures_add_text(table, tsim_collective_op_name(row->run->op));
        tsim_figures_add(table, row->run->n_ranks);
        tsim_figures_add(table, row->measured.bytes);
        tsim_figures_add(table, measured_s);
        tsim_figures_add(table, row->before_s / measured_s - 1);
        tsim_figures_add(table, row->after_s / measured_s - 1);
        tsim_figures_add_text(table, row->is_left_out ? "left-out" : tsim_algorithm_name(row->algorithm));
    }
}

static bool write_tables(const struct tsim_arguments *arguments, struct tsim_arena *arena,
                         const struct tsim_link_calibration *c, enum tsim_exit *status) {
    static const struct tsim_figure_column VALUES[] = {
        {NULL, "of", TSIM_FIGURE_TEXT},          {NULL, "value", TSIM_FIGURE_TEXT},
        {NULL, "catalogue", TSIM_FIGURE_NUMBER}, {NULL, "fitted", TSIM_FIGURE_NUMBER},
        {NULL, "low_95", TSIM_FIGURE_NUMBER},    {NULL, "high_95", TSIM_FIGURE_NUMBER}};
    static const struct tsim_figure_column ROWS[] = {{NULL, "op", TSIM_FIGURE_TEXT},
                                                     {NULL, "ranks", TSIM_FIGURE_COUNT},
                                                     {NULL, "bytes", TSIM_FIGURE_BYTES},
                                                     {NULL, "measured_s", TSIM_FIGURE_SECONDS},
                                                     {NULL, "catalogue_error", TSIM_FIGURE_CHANGE},
                                                     {NULL, "fitted_error", TSIM_FIGURE_CHANGE},
                                                     {NULL, "algorithm", TSIM_FIGURE_TEXT}};
    struct tsim_figures tables[2];
    tsim_figures_init(&tables[0], arena, "values", VALUES, sizeof VALUES / sizeof VALUES[0]);
    tsim_figures_init(&tables[1], arena, "sizes", ROWS, sizeof ROWS / sizeof ROWS[0]);
    fill_values(&tables[0], c);
    fill_rows(&tables[1], c);
    return tsim_write_tables(arguments, tables, 2, status);
}

/* ---- files ---- */

static void write_value(FILE *out, struct tsim_arena *arena, const struct tsim_link_calibration *c,
                        enum tsim_link_value which) {
    const struct tsim_link_fitted *value = &c->values[which];
    const char *name = tsim_link_value_name(which), *dot = strchr(name, '.');
    if (!value->fitted)
        return;
    fprintf(out, "%s%s: {value: %s, source: \"tsim calibrate nccl-tests: %zu sizes", dot ? "  " : "",
            dot ? dot + 1 : name, value_text(arena, which, value->after), c->n_rows - c->n_left_out);
    fprintf(out, "\", status: fitted");
    if (!isnan(value->low_95))
        fprintf(out, ", interval: [%s, %s]", value_text(arena, which, value->low_95),
                value_text(arena, which, value->high_95));
    fprintf(out, "}\n");
}

static bool has_fitted(const struct tsim_link_calibration *c, bool is_node) {
    for (int i = 0; i < TSIM_N_LINK_VALUES; i++)
        if (c->values[i].fitted && tsim_link_value_is_node((enum tsim_link_value)i) == is_node)
            return true;
    return false;
}

struct writing {
    struct tsim_arena *arena;
    const struct tsim_link_calibration *calibration;
    bool is_node;
};

static enum tsim_status write_yaml(void *context, FILE *out) {
    const struct writing *writing = context;
    const struct tsim_link_calibration *c = writing->calibration;
    const char *base = writing->is_node ? c->node->name : c->fabric->name;
    fprintf(out, "schema: tsim/%s/v1\nname: %s-measured\nextends: %s\n%s", writing->is_node ? "node" : "fabric", base,
            base, writing->is_node ? "scale_up:\n" : "");
    for (int i = 0; i < TSIM_N_LINK_VALUES; i++)
        if (tsim_link_value_is_node((enum tsim_link_value)i) == writing->is_node)
            write_value(out, writing->arena, c, (enum tsim_link_value)i);
    return TSIM_OK;
}

/* Writes mine.yaml, or mine-node.yaml and mine-fabric.yaml. */
static enum tsim_exit write_files(const struct tsim_arguments *arguments, struct tsim_arena *arena,
                                  const struct tsim_link_calibration *c) {
    const char *name = arguments->value[TSIM_OPTION_OUTPUT];
    bool is_told =
        !arguments->has[TSIM_OPTION_QUIET] && !arguments->has[TSIM_OPTION_CSV] && !tsim_is_json_on_stdout(arguments);
    bool node = has_fitted(c, true), fabric = has_fitted(c, false);
    enum tsim_exit status = TSIM_EXIT_OK;
    size_t length = tsim_length_before(name, ".yaml");
    for (int i = 0; i < 2; i++) {
        bool is_node = i == 0;
        if (is_node ? !node : !fabric)
            continue;
        const char *file = name;
        if (node && fabric)
            file = tsim_arena_printf(arena, "%.*s-%s.yaml", (int)(length ? length : strlen(name)), name,
                                     is_node ? "node" : "fabric");
        if (is_told)
            printf("%s: for %s: ./%s\n", file, is_node ? "cluster.node" : "cluster.fabric", file);
        struct writing writing = {arena, c, is_node};
        status = tsim_exit_worse(status, tsim_write_file(file, write_yaml, &writing));
    }
    return status;
}

enum tsim_exit tsim_calibrate_nccl_tests(const struct tsim_arguments *arguments) {
    struct tsim_nccl_hints hints = {.n_ranks = 0};
    const char *node = NULL, *fabric = NULL;
    if (!read_hints(arguments, &hints) || !read_machine(arguments, &node, &fabric))
        return TSIM_EXIT_USAGE;
    struct tsim_link_calibration c;
    size_t n_runs = arguments->n_operands - 1;
    struct tsim_nccl_run *runs = TSIM_NEW_ARRAY(arguments->arena, n_runs, struct tsim_nccl_run);
    enum tsim_status status = read_runs(arguments->arena, arguments, &hints, runs, arguments->diags);
    if (status == TSIM_OK)
        status = tsim_calibrate_links(arguments->arena, node, fabric, runs, n_runs, &c, arguments->diags);
    tsim_report_diags(arguments, arguments->diags);
    enum tsim_exit exit_status = tsim_exit_of(status);
    if (status == TSIM_OK) {
        if (!write_tables(arguments, arguments->arena, &c, &exit_status)) {
            print_values(arguments->arena, &c);
            print_rows(arguments->arena, &c);
        }
        if (arguments->value[TSIM_OPTION_OUTPUT])
            exit_status = tsim_exit_worse(exit_status, write_files(arguments, arguments->arena, &c));
        exit_status = tsim_exit_worse(exit_status, tsim_flush_results());
    }
    return exit_status;
}
