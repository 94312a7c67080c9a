/* tsim calibrate intervals: the sizes of the error's parts, and what intervals made with them hold. */
#include "cli/command.h"

#include "report/terminal/figures.h"
#include "study/judge/coverage.h"

static const struct tsim_figure_column SIZES[] = {{"part of the error", "part", TSIM_FIGURE_TEXT},
                                                  {"dense transformers", "dense", TSIM_FIGURE_NUMBER},
                                                  {"other models", "other", TSIM_FIGURE_NUMBER}},
                                       HELD[] = {{"left out", "left_out", TSIM_FIGURE_TEXT},
                                                 {"group", "group", TSIM_FIGURE_TEXT},
                                                 {"runs", "runs", TSIM_FIGURE_COUNT},
                                                 {"inside", "inside", TSIM_FIGURE_SHARE},
                                                 {"half are narrower than", "median_width", TSIM_FIGURE_SHARE},
                                                 {"holds", "holds", TSIM_FIGURE_COUNT}};

static void add_size(struct tsim_figures *table, const char *name, const double size[TSIM_N_ERROR_CLASSES]) {
    tsim_figures_add_text(table, name);
    tsim_figures_add(table, size[TSIM_ERROR_DENSE]);
    tsim_figures_add(table, size[TSIM_ERROR_OTHER]);
}

static void fill_sizes(struct tsim_figures *table, const struct tsim_error_sizes *sizes) {
    for (int part = 0; part < TSIM_N_ERROR_PARTS; part++)
        add_size(table, tsim_error_part_name((enum tsim_error_part)part), sizes->part[part]);
    add_size(table, "run", sizes->run);
    add_size(table, "low end", sizes->low);
    add_size(table, "high end", sizes->high);
}

static void fill_held(struct tsim_figures *table, const struct tsim_coverage *coverage) {
    for (size_t i = 0; i < coverage->n_held; i++) {
        const struct tsim_held *held = &coverage->held[i];
        tsim_figures_add_text(table, tsim_left_out_name(held->by));
        tsim_figures_add_text(table, held->name);
        tsim_figures_add(table, held->n);
        tsim_figures_add(table, (double)held->n_inside / held->n);
        tsim_figures_add(table, held->median_width_frac);
        tsim_figures_add(table, held->holds);
    }
}

static void print_tables(const struct tsim_figures tables[2], const struct tsim_coverage coverage[TSIM_N_LEFT_OUT]) {
    struct tsim_style style = tsim_style_of(stdout);
    for (int i = 0; i < 2; i++) {
        tsim_figures_print(&tables[i], &style, stdout);
        putchar('\n');
    }
    for (int by = 0; by < TSIM_N_LEFT_OUT; by++)
        printf("%.0f %% of the groups hold, left out by %s\n", 100 * coverage[by].holds_frac,
               tsim_left_out_name((enum tsim_left_out)by));
}

static enum tsim_status write_sizes(void *context, FILE *out) {
    tsim_error_sizes_write(out, context);
    return TSIM_OK;
}

enum tsim_exit tsim_calibrate_intervals(const struct tsim_arguments *arguments) {
    struct tsim_residuals tables[2];
    struct tsim_error_sizes sizes;
    struct tsim_coverage coverage[TSIM_N_LEFT_OUT];
    struct tsim_figures figures[2];
    enum tsim_status read = TSIM_OK;
    if (arguments->n_operands < 3 || arguments->n_operands > 4) {
        fputs("tsim calibrate: intervals takes two FILEs and the name of one to write\n", stderr);
        return TSIM_EXIT_USAGE;
    }
    for (int i = 0; i < 2 && read == TSIM_OK; i++)
        read = tsim_residuals_read(arguments->arena, arguments->operands[1 + i], &tables[i], arguments->diags);
    if (read == TSIM_OK && tables[0].n == 0) {
        read = TSIM_ERR_SCHEMA;
        tsim_diags_error(arguments->diags, read, (struct tsim_place){.file = arguments->operands[1]}, "",
                         "there is no residual in it");
    }
    enum tsim_exit status = tsim_exit_of(read);
    tsim_report_diags(arguments, arguments->diags);
    if (read == TSIM_OK) {
        tsim_intervals_fit(arguments->arena, &tables[0], &tables[1], &sizes);
        const struct tsim_residuals first = tsim_first_errors(arguments->arena, &tables[0], &tables[1]);
        for (int by = 0; by < TSIM_LEFT_OUT_BLIND; by++)
            tsim_coverage_of(arguments->arena, &tables[0], &first, &sizes, (enum tsim_left_out)by, &coverage[by]);
        tsim_coverage_of_blind(arguments->arena, &tables[0], &tables[1], &coverage[TSIM_LEFT_OUT_BLIND]);
        tsim_figures_init(&figures[0], arguments->arena, "sizes", SIZES, sizeof SIZES / sizeof SIZES[0]);
        tsim_figures_init(&figures[1], arguments->arena, "held", HELD, sizeof HELD / sizeof HELD[0]);
        fill_sizes(&figures[0], &sizes);
        for (int by = 0; by < TSIM_N_LEFT_OUT; by++)
            fill_held(&figures[1], &coverage[by]);
        if (!tsim_write_tables(arguments, figures, 2, &status))
            print_tables(figures, coverage);
        status = tsim_exit_worse(status, tsim_flush_results());
        if (arguments->n_operands > 3)
            status = tsim_exit_worse(status, tsim_write_file(arguments->operands[3], write_sizes, &sizes));
    }
    return status;
}
