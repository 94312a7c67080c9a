#include "cli/command.h"

#include "report/terminal/explain_sections.h"
#include "report/terminal/figures.h"
#include "report/text_file.h"
#include "results/verdict.h"
#include "run/run.h"
#include "study/judge/kernel_pairs.h"
#include "study/judge/profile_database.h"

#include <math.h>
#include <string.h>

static const struct tsim_column CLASS_COLUMNS[] = {
    {"kernels", false},  {"measured", true},           {"in a step", true},       {"predicted", true},
    {"in a step", true}, {"predicted/measured", true}, {"share of the gap", true}};
static const struct tsim_column STEP_COLUMNS[] = {
    {"step", false}, {"measured", true}, {"predicted", true}, {"predicted/measured", true}};
static const struct tsim_column KERNEL_COLUMNS[] = {
    {"longest kernels", false}, {"class", false}, {"in a step", true}, {"time", true}};
static const struct tsim_column PAIR_COLUMNS[] = {{"kernel by kernel", false}, {"runs as", false},
                                                  {"in a step", true},         {"measured", true},
                                                  {"predicted", true},         {"predicted/measured", true}};
enum { MOST_KERNELS = 12, MOST_PAIRS = 24, NAME_WIDTH = 56, PAIR_WIDTH = 40 };

static const char *ms(struct tsim_arena *arena, double seconds) {
    return tsim_arena_printf(arena, "%.3f ms", 1e3 * seconds);
}

static const char *change(struct tsim_arena *arena, double predicted, double measured) {
    return measured > 0 && predicted > 0 ? tsim_arena_printf(arena, "%+.1f %%", 100 * (predicted / measured - 1)) : "-";
}

static const char *count(struct tsim_arena *arena, double n) {
    return n > 0 ? tsim_arena_printf(arena, "%.4g", n) : "-";
}

/* ---- tables ---- */

static void add_step_row(struct tsim_arena *arena, struct tsim_text_table *table, const char *name, double measured_s,
                         double predicted_s) {
    tsim_text_table_add(table, name);
    tsim_text_table_add(table, ms(arena, measured_s));
    tsim_text_table_add(table, ms(arena, predicted_s));
    tsim_text_table_add(table, change(arena, predicted_s, measured_s));
}

static void print_step(struct tsim_arena *arena, const struct tsim_profile *p,
                       const struct tsim_profile_comparison *c) {
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_text_table table;
    tsim_text_table_init(&table, arena, STEP_COLUMNS, sizeof STEP_COLUMNS / sizeof STEP_COLUMNS[0]);
    double kernels_s = c->predicted_step_s - c->predicted_exposed_s - c->predicted_idle_s;
    add_step_row(arena, &table, "whole", p->step_s, c->predicted_step_s);
    add_step_row(arena, &table, "kernels, communication apart", p->busy_s - p->exposed_s, kernels_s);
    add_step_row(arena, &table, "communication alone", p->exposed_s, c->predicted_exposed_s);
    add_step_row(arena, &table, "nothing runs", fmax(0, p->step_s - p->busy_s), c->predicted_idle_s);
    tsim_text_table_print(&table, &style, stdout);
}

/* Returns the gap: the sum of the differences of all classes of kernels. */
static double gap_of(const struct tsim_profile *p, const struct tsim_profile_comparison *c) {
    double gap_s = 0;
    for (int i = 0; i < TSIM_N_KERNEL_CLASSES; i++)
        gap_s += fabs(c->classes[i].predicted_s - p->class_s[i]);
    return gap_s;
}

static void print_classes(struct tsim_arena *arena, const struct tsim_profile *p,
                          const struct tsim_profile_comparison *c) {
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_text_table table;
    double gap_s = gap_of(p, c);
    tsim_text_table_init(&table, arena, CLASS_COLUMNS, sizeof CLASS_COLUMNS / sizeof CLASS_COLUMNS[0]);
    for (int i = 0; i < TSIM_N_KERNEL_CLASSES; i++) {
        double measured_s = p->class_s[i], predicted_s = c->classes[i].predicted_s;
        if (measured_s <= 0 && predicted_s <= 0)
            continue;
        tsim_text_table_add(&table, tsim_kernel_class_name((enum tsim_kernel_class)i));
        tsim_text_table_add(&table, count(arena, p->class_count[i]));
        tsim_text_table_add(&table, ms(arena, measured_s));
        tsim_text_table_add(&table, count(arena, c->classes[i].predicted_count));
        tsim_text_table_add(&table, ms(arena, predicted_s));
        tsim_text_table_add(&table, change(arena, predicted_s, measured_s));
        tsim_text_table_add(&table, tsim_arena_printf(arena, "%.0f %%",
                                                      gap_s > 0 ? 100 * fabs(predicted_s - measured_s) / gap_s : 0.0));
    }
    putchar('\n');
    tsim_text_table_print(&table, &style, stdout);
}

static const char *cut(struct tsim_arena *arena, const char *name, int width) {
    char *copy = tsim_arena_printf(arena, strlen(name) > (size_t)width ? "%.*s..." : "%.*s", width, name);
    for (char *c = copy; *c; c++)
        *c = (unsigned char)*c < ' ' || (unsigned char)*c >= '\x7F' ? '?' : *c;
    return copy;
}

static void print_kernels(struct tsim_arena *arena, const struct tsim_profile *p) {
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_text_table table;
    tsim_text_table_init(&table, arena, KERNEL_COLUMNS, sizeof KERNEL_COLUMNS / sizeof KERNEL_COLUMNS[0]);
    for (size_t i = 0; i < p->n_kernels && i < MOST_KERNELS; i++) {
        if (p->kernels[i].time_s <= 0)
            break;
        tsim_text_table_add(&table, cut(arena, p->kernels[i].name, NAME_WIDTH));
        tsim_text_table_add(&table, tsim_kernel_class_name(p->kernels[i].class));
        tsim_text_table_add(&table, count(arena, p->kernels[i].count));
        tsim_text_table_add(&table, ms(arena, p->kernels[i].time_s));
    }
    putchar('\n');
    tsim_text_table_print(&table, &style, stdout);
}

/* Prints the pairs of a class that has as many kernels as operators. */
static void print_pairs(struct tsim_arena *arena, const struct tsim_kernel_pairs *pairs) {
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_text_table table;
    if (pairs->n == 0)
        return;
    tsim_text_table_init(&table, arena, PAIR_COLUMNS, sizeof PAIR_COLUMNS / sizeof PAIR_COLUMNS[0]);
    for (size_t i = 0; i < pairs->n && i < MOST_PAIRS; i++) {
        const struct tsim_kernel_pair *pair = &pairs->items[i];
        tsim_text_table_add(&table, pair->op);
        tsim_text_table_add(&table, cut(arena, pair->kernel, PAIR_WIDTH));
        tsim_text_table_add(&table, count(arena, pair->count));
        tsim_text_table_add(&table, ms(arena, pair->measured_s));
        tsim_text_table_add(&table, ms(arena, pair->predicted_s));
        tsim_text_table_add(&table, change(arena, pair->predicted_s, pair->measured_s));
    }
    putchar('\n');
    tsim_text_table_print(&table, &style, stdout);
}

/* ---- for programs ---- */

struct parts {
    const char *name;
    double measured_s, predicted_s;
};

static void fill_step(struct tsim_figures *table, const struct tsim_profile *p,
                      const struct tsim_profile_comparison *c) {
    const struct parts rows[] = {
        {"step", p->step_s, c->predicted_step_s},
        {"kernels", p->busy_s - p->exposed_s, c->predicted_step_s - c->predicted_exposed_s - c->predicted_idle_s},
        {"communication_exposed", p->exposed_s, c->predicted_exposed_s},
        {"idle", fmax(0, p->step_s - p->busy_s), c->predicted_idle_s}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tsim_figures_add_text(table, rows[i].name);
        tsim_figures_add(table, rows[i].measured_s);
        tsim_figures_add(table, rows[i].predicted_s);
    }
}

static void fill_classes(struct tsim_figures *table, const struct tsim_profile *p,
                         const struct tsim_profile_comparison *c) {
    for (int i = 0; i < TSIM_N_KERNEL_CLASSES; i++) {
        tsim_figures_add_text(table, tsim_kernel_class_name((enum tsim_kernel_class)i));
        tsim_figures_add(table, p->class_count[i]);
        tsim_figures_add(table, p->class_s[i]);
        tsim_figures_add(table, c->classes[i].predicted_count);
        tsim_figures_add(table, c->classes[i].predicted_s);
    }
}

static void fill_pairs(struct tsim_figures *table, const struct tsim_kernel_pairs *pairs) {
    for (size_t i = 0; i < pairs->n; i++) {
        const struct tsim_kernel_pair *pair = &pairs->items[i];
        tsim_figures_add_text(table, pair->op);
        tsim_figures_add_text(table, tsim_kernel_class_name(pair->class));
        tsim_figures_add_text(table, pair->kernel);
        tsim_figures_add(table, pair->count);
        tsim_figures_add(table, pair->measured_s);
        tsim_figures_add(table, pair->predicted_s);
    }
}

static bool write_tables(const struct tsim_arguments *arguments, struct tsim_arena *arena, const struct tsim_profile *p,
                         const struct tsim_profile_comparison *c, const struct tsim_kernel_pairs *pairs,
                         enum tsim_exit *status) {
    static const struct tsim_figure_column STEP[] = {{NULL, "part", TSIM_FIGURE_TEXT},
                                                     {NULL, "measured_s", TSIM_FIGURE_SECONDS},
                                                     {NULL, "predicted_s", TSIM_FIGURE_SECONDS}};
    static const struct tsim_figure_column CLASSES[] = {{NULL, "class", TSIM_FIGURE_TEXT},
                                                        {NULL, "measured_count", TSIM_FIGURE_NUMBER},
                                                        {NULL, "measured_s", TSIM_FIGURE_SECONDS},
                                                        {NULL, "predicted_count", TSIM_FIGURE_NUMBER},
                                                        {NULL, "predicted_s", TSIM_FIGURE_SECONDS}};
    static const struct tsim_figure_column KERNELS[] = {{NULL, "kernel", TSIM_FIGURE_TEXT},
                                                        {NULL, "class", TSIM_FIGURE_TEXT},
                                                        {NULL, "count", TSIM_FIGURE_NUMBER},
                                                        {NULL, "time_s", TSIM_FIGURE_SECONDS}};
    static const struct tsim_figure_column PAIRS[] = {
        {NULL, "operator", TSIM_FIGURE_TEXT},      {NULL, "class", TSIM_FIGURE_TEXT},
        {NULL, "kernel", TSIM_FIGURE_TEXT},        {NULL, "count", TSIM_FIGURE_NUMBER},
        {NULL, "measured_s", TSIM_FIGURE_SECONDS}, {NULL, "predicted_s", TSIM_FIGURE_SECONDS}};
    struct tsim_figures tables[4];
    tsim_figures_init(&tables[0], arena, "step", STEP, sizeof STEP / sizeof STEP[0]);
    tsim_figures_init(&tables[1], arena, "classes", CLASSES, sizeof CLASSES / sizeof CLASSES[0]);
    tsim_figures_init(&tables[2], arena, "kernels", KERNELS, sizeof KERNELS / sizeof KERNELS[0]);
    tsim_figures_init(&tables[3], arena, "pairs", PAIRS, sizeof PAIRS / sizeof PAIRS[0]);
    fill_step(&tables[0], p, c);
    fill_classes(&tables[1], p, c);
    for (size_t i = 0; i < p->n_kernels; i++) {
        tsim_figures_add_text(&tables[2], p->kernels[i].name);
        tsim_figures_add_text(&tables[2], tsim_kernel_class_name(p->kernels[i].class));
        tsim_figures_add(&tables[2], p->kernels[i].count);
        tsim_figures_add(&tables[2], p->kernels[i].time_s);
    }
    fill_pairs(&tables[3], pairs);
    return tsim_write_tables(arguments, tables, 4, status);
}

/* Prints a sentence on where prediction and measurement differ most. */
static void print_verdict(const struct tsim_profile *p, const struct tsim_profile_comparison *c) {
    double most_s = 0, idle_s = fmax(0, p->step_s - p->busy_s) - c->predicted_idle_s;
    int which = -1;
    for (int i = 0; i < TSIM_N_KERNEL_CLASSES; i++) {
        double apart_s = c->classes[i].predicted_s - p->class_s[i];
        if (fabs(apart_s) > fabs(most_s) && i != TSIM_KERNEL_COMMUNICATION)
            most_s = apart_s, which = i;
    }
    double exposed_s = c->predicted_exposed_s - p->exposed_s;
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_fold fold;
    FILE *out = tsim_fold_open(&fold, &style, stdout);
    fputc('\n', out);
    if (fabs(idle_s) > fabs(most_s) && fabs(idle_s) > fabs(exposed_s))
        fprintf(out, "They part most where nothing runs: %.3f ms %s than predicted%s\n", 1e3 * fabs(idle_s),
                idle_s > 0 ? "more" : "less", idle_s > 0 ? " (the host, or waits for others)" : "");
    else if (fabs(exposed_s) > fabs(most_s))
        fprintf(out, "They part most in communication that nothing hides: %.3f ms %s predicted\n",
                1e3 * fabs(exposed_s), exposed_s > 0 ? "more" : "less");
    else if (which >= 0)
        fprintf(out, "They part most in %s: %.3f ms %s predicted\n",
                tsim_kernel_class_name((enum tsim_kernel_class)which), 1e3 * fabs(most_s),
                most_s > 0 ? "more" : "less");
    tsim_fold_close(&fold);
}

static enum tsim_exit write_all(const struct tsim_arguments *arguments, struct tsim_arena *arena,
                                const struct tsim_profile *p, const struct tsim_result *result,
                                const struct tsim_kernel_pairs *pairs) {
    struct tsim_profile_comparison c;
    enum tsim_exit status = TSIM_EXIT_OK;
    tsim_profile_compare(result, &c);
    if (write_tables(arguments, arena, p, &c, pairs, &status))
        return status;
    if (p->has_steps)
        printf("%.0f steps of %s%s, beside %s\n\n", p->n_steps, p->file,
               p->is_by_update ? ", each from the optimizer's update to the next" : "", result->scenario->name);
    else
        printf("all of %s, taken as one step, beside %s\n\n", p->file, result->scenario->name);
    print_step(arena, p, &c);
    print_classes(arena, p, &c);
    print_pairs(arena, pairs);
    print_kernels(arena, p);
    print_verdict(p, &c);
    return status;
}

/* ---- the command ---- */

static enum tsim_status read_profile(struct tsim_arena *arena, const char *file, struct tsim_profile *profile,
                                     struct tsim_diags *diags) {
    struct tsim_file_bytes bytes;
    if (strcmp(file, "-") != 0 && tsim_profile_is_database(file))
        return tsim_profile_read_database(arena, file, profile, diags);
    TSIM_TRY(tsim_text_file_read(arena, file, TSIM_PROFILE_MAX_BYTES, "a trace of a profiler", &bytes, diags));
    enum tsim_status status = tsim_profile_read_text(arena, bytes.file, bytes.text, bytes.size, profile, diags);
    tsim_heap_free(bytes.text);
    return status;
}

/* Kernels are compared with operators, so that these are what is simulated, whatever the scenario's detail is. */
static enum tsim_status simulate(const struct tsim_arguments *arguments, struct tsim_arena *arena,
                                 const struct tsim_profile *profile, struct tsim_result *result,
                                 struct tsim_kernel_pairs *pairs, struct tsim_diags *diags) {
    size_t n = arguments->n_overrides;
    struct tsim_override *overrides = TSIM_NEW_ARRAY(arena, n + 1, struct tsim_override);
    struct tsim_operator_sequence *sequence = tsim_operator_sequence_new(arena);
    const struct tsim_run_options options = {.ignore_memory = true, .sink = tsim_operator_sequence_sink(sequence)};
    const struct tsim_scenario *scenario;
    if (n > 0)
        memcpy(overrides, arguments->overrides, n * sizeof *overrides);
    overrides[n] = (struct tsim_override){.path = "simulation.detail", .value = "operators"};
    TSIM_TRY(tsim_scenario_load(arena, arguments->operands[2], overrides, n + 1, &scenario, diags));
    enum tsim_status status = tsim_train_run(arena, scenario, &options, result, diags);
    const struct tsim_rank_row *critical = status == TSIM_OK ? tsim_critical_rank(result) : NULL;
    tsim_kernel_pairs_find(arena, profile, sequence, critical ? critical->rank : 0, pairs);
    return status;
}

enum tsim_exit tsim_calibrate_profile(const struct tsim_arguments *arguments) {
    if (arguments->n_operands != 3) {
        fputs("tsim calibrate: profile takes FILE and SCENARIO\n", stderr);
        return TSIM_EXIT_USAGE;
    }
    struct tsim_profile profile;
    struct tsim_result result;
    struct tsim_kernel_pairs pairs;
    enum tsim_status status = read_profile(arguments->arena, arguments->operands[1], &profile, arguments->diags);
    if (status == TSIM_OK)
        status = simulate(arguments, arguments->arena, &profile, &result, &pairs, arguments->diags);
    tsim_report_diags(arguments, arguments->diags);
    enum tsim_exit exit_status = tsim_exit_of(status);
    if (status == TSIM_OK)
        exit_status = write_all(arguments, arguments->arena, &profile, &result, &pairs);
    exit_status = tsim_exit_worse(exit_status, tsim_flush_results());
    return exit_status;
}
