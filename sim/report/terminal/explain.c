#include "report/terminal/explain.h"

#include "partition/partition.h"
#include "report/terminal/explain_sections.h"
#include "results/verdict.h"

#include <math.h>

/* ---- sections of one table ---- */

/* Makes the table of links by load: passes at the rate that they need on average, collectives and messages as they
 * flow. */
static bool links_table(struct tsim_arena *arena, const struct tsim_explanation *explanation,
                        struct tsim_figures *figures) {
    static const struct tsim_figure_column COLUMNS[] = {
        {"links", "sort", TSIM_FIGURE_TEXT},         {"count", "links", TSIM_FIGURE_COUNT},
        {"mean", "mean_load", TSIM_FIGURE_SHARE},    {"highest", "highest_load", TSIM_FIGURE_SHARE},
        {NULL, "bytes", TSIM_FIGURE_BYTES},          {"of", "capacity_bytes_per_s", TSIM_FIGURE_BYTES_PER_S},
        {"the fullest", "fullest", TSIM_FIGURE_TEXT}};
    tsim_figures_init(figures, arena, "links", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int32_t i = 0; i < explanation->n_link_utilizations; i++) {
        const struct tsim_link_utilization *use = &explanation->link_utilizations[i];
        tsim_figures_add_text(figures, use->sort);
        tsim_figures_add(figures, use->n_links);
        tsim_figures_add(figures, use->mean_frac);
        tsim_figures_add(figures, use->highest_frac);
        tsim_figures_add(figures, use->highest_bytes);
        tsim_figures_add(figures, use->highest_capacity_bytes_per_s);
        tsim_figures_add_text(figures, use->busiest);
    }
    return true;
}

static const struct tsim_explain_section LINKS = {
    .needs_step = true, .heading = "links by load over the step (each direction)", .table = links_table};

/* The input pipeline of the node that is asked for most: what each part could deliver alone, and how busy it is. */
static void add_part(struct tsim_figures *figures, const char *name, double samples_per_s, double busy_frac) {
    tsim_figures_add_text(figures, name);
    tsim_figures_add(figures, samples_per_s);
    tsim_figures_add(figures, busy_frac);
}

/* Returns the samples on which the node's replicas train in a step. */
static double samples_per_step(const struct tsim_explanation *explanation) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(explanation->scenario);
    return (double)explanation->pipeline.n_consumers * tsim_schedule_chunk_microbatches(&shape) *
           (double)explanation->scenario->training.micro_batch_size;
}

static double over(double a, double b) {
    return b > 0 ? a / b : (double)NAN;
}

static bool input_table(struct tsim_arena *arena, const struct tsim_explanation *explanation,
                        struct tsim_figures *figures) {
    static const struct tsim_figure_column COLUMNS[] = {{"part", "part", TSIM_FIGURE_TEXT},
                                                        {"samples/s", "samples_per_s", TSIM_FIGURE_AMOUNT},
                                                        {"busy", "busy", TSIM_FIGURE_SHARE}};
    if (!explanation->scenario->data.has)
        return false;
    const struct tsim_input_pipeline *f = &explanation->pipeline;
    const struct tsim_input_pipeline_flow *flow = &explanation->flow;
    const struct tsim_step_terms *t = &explanation->result->step.terms;
    double batch = (double)explanation->scenario->training.micro_batch_size, step = samples_per_step(explanation);
    double cores = f->cores > 0 ? fmin(f->cores, f->workers) : f->workers;
    tsim_figures_init(figures, arena, "input", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    double delivered = flow->storage_bytes_per_s; /* over NICs no more than the step leaves of them */
    bool has_nics = delivered < f->storage_bytes_per_s;
    add_part(figures, "storage", batch * over(f->storage_bytes_per_s, f->read_bytes),
             flow->storage_frac * (has_nics ? delivered / f->storage_bytes_per_s : 1));
    if (has_nics)
        add_part(figures, "NICs, what the step leaves", batch * over(delivered, f->read_bytes), flow->storage_frac);
    add_part(figures, "workers, reading", batch * f->workers / f->read_alone_s, flow->reading_frac);
    add_part(figures, "workers, transforming", batch * over(cores, f->cpu_s), flow->transform_frac);
    add_part(figures, "copies to accelerators",
             batch * f->n_consumers *
                 over(f->link_bytes_per_s > 0 ? f->link_bytes_per_s : (double)NAN, f->transfer_bytes),
             flow->link_frac);
    add_part(figures, "accelerators", step / (t->time_s - t->data_stall_s), 1 - t->data_stall_s / t->time_s);
    add_part(figures, "delivered", step / t->time_s, (double)NAN);
    return true;
}

static const struct tsim_explain_section INPUT = {
    .needs_step = true,
    .heading = "input of a node: what each part could deliver alone, and how busy it is",
    .table = input_table};

static bool sensitivity_table(struct tsim_arena *arena, const struct tsim_explanation *explanation,
                              struct tsim_figures *figures) {
    static const struct tsim_figure_column COLUMNS[] = {{"capacity", NULL, TSIM_FIGURE_TEXT},
                                                        {NULL, "capacity", TSIM_FIGURE_TEXT},
                                                        {"now", NULL, TSIM_FIGURE_TEXT},
                                                        {NULL, "value", TSIM_FIGURE_NUMBER},
                                                        {"at -10 %", "less_change_frac", TSIM_FIGURE_CHANGE},
                                                        {"at +10 %", "more_change_frac", TSIM_FIGURE_CHANGE},
                                                        {NULL, "less_time_s", TSIM_FIGURE_SECONDS},
                                                        {NULL, "more_time_s", TSIM_FIGURE_SECONDS},
                                                        {"elasticity", "elasticity", TSIM_FIGURE_SIGNED}};
    double time_s = tsim_steady_time_s(&explanation->result->step);
    char text[64];
    tsim_figures_init(figures, arena, "sensitivities", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int32_t i = 0; i < explanation->sensitivities.n; i++) {
        const struct tsim_sensitivity *row = &explanation->sensitivities.rows[i];
        tsim_figures_add_text(figures, row->name);
        tsim_figures_add_text(figures, row->key);
        tsim_figures_add_text(
            figures, tsim_arena_strdup(arena, tsim_quantity_human(row->value, row->dimension, text, sizeof text)));
        tsim_figures_add(figures, row->value);
        tsim_figures_add(figures, row->less_time_s / time_s - 1);
        tsim_figures_add(figures, row->more_time_s / time_s - 1);
        tsim_figures_add(figures, row->less_time_s);
        tsim_figures_add(figures, row->more_time_s);
        tsim_figures_add(figures, row->elasticity);
    }
    return true;
}

static const struct tsim_explain_section SENSITIVITY = {
    .needs_step = true, .heading = "the step with each capacity a tenth lower and higher", .table = sensitivity_table};

/* ---- advice ---- */

/* Each piece of advice is one text, "SETTING: step TIME, N % faster", the best first. */
static void advice_tables(struct tsim_arena *arena, const struct tsim_explanation *explanation,
                          tsim_explain_take_fn take, void *context) {
    static const struct tsim_figure_column COLUMNS[] = {{"rank", "rank", TSIM_FIGURE_COUNT},
                                                        {"advice", "advice", TSIM_FIGURE_TEXT}};
    struct tsim_figures figures;
    tsim_figures_init(&figures, arena, "advice", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int32_t i = 0; i < explanation->prediction->n_advice; i++) {
        tsim_figures_add(&figures, i + 1);
        tsim_figures_add_text(&figures, explanation->prediction->advice[i]);
    }
    take(context, &figures);
}

static void print_advice(struct tsim_arena *arena, FILE *out, const struct tsim_style *style,
                         const struct tsim_explanation *explanation) {
    (void)arena;
    struct tsim_fold fold;
    tsim_text_heading(out, style, "advice, the largest gain first (each simulated alone)");
    FILE *lines = tsim_fold_open(&fold, style, out);
    for (int32_t i = 0; i < explanation->prediction->n_advice; i++)
        fprintf(lines, "%d. %s\n", i + 1, explanation->prediction->advice[i]);
    if (explanation->prediction->n_advice == 0)
        fputs("no single change that was tried gains 1 %\n", lines);
    tsim_fold_close(&fold);
}

static const struct tsim_explain_section ADVICE = {.needs_step = true, .tables = advice_tables, .print = print_advice};

/* ---- all ---- */

/* The sections stand in the order in which they are printed. */
static const struct tsim_explain_section *const SECTIONS[] = {&tsim_explain_memory,
                                                              &tsim_explain_operators,
                                                              &tsim_explain_schedule,
                                                              &tsim_explain_path,
                                                              &tsim_explain_overlap,
                                                              &LINKS,
                                                              &INPUT,
                                                              &SENSITIVITY,
                                                              &ADVICE};
enum { N_SECTIONS = sizeof SECTIONS / sizeof SECTIONS[0] };

static void take_tables(const struct tsim_explain_section *section, struct tsim_arena *arena,
                        const struct tsim_explanation *explanation, tsim_explain_take_fn take, void *context) {
    struct tsim_figures figures;
    if (section->tables)
        section->tables(arena, explanation, take, context);
    else if (section->table(arena, explanation, &figures))
        take(context, &figures);
}

static void print_section(const struct tsim_explain_section *section, struct tsim_arena *arena, FILE *out,
                          const struct tsim_style *style, const struct tsim_explanation *explanation) {
    struct tsim_figures figures;
    if (section->print) {
        section->print(arena, out, style, explanation);
    } else if (section->table(arena, explanation, &figures) && figures.n_cells > 0) {
        tsim_text_heading(out, style, section->heading);
        tsim_figures_print(&figures, style, out);
    }
}

static bool applies(const struct tsim_explain_section *section, const struct tsim_explanation *explanation) {
    return explanation->timeline || !section->needs_step;
}

/* Plays the step once more, and listens to the replica. */
static enum tsim_status play_again(struct tsim_arena *arena, const struct tsim_scenario *played, int32_t replica,
                                   const struct tsim_timeline **timeline, struct tsim_diags *diags) {
    const struct tsim_machine machine = tsim_machine_of(arena, played, NULL);
    struct tsim_step_simulation simulation;
    struct tsim_input_pipeline_flow flow;
    struct tsim_step_sink sink;
    *timeline = tsim_timeline_listen(arena, played, replica, &sink);
    return tsim_step_simulate_with_input(arena, played, machine.cluster, machine.placement, machine.costs, &sink,
                                         &simulation, &flow, diags);
}

enum tsim_status tsim_explanation_build(struct tsim_arena *arena, const struct tsim_prediction *prediction,
                                        const struct tsim_timeline *of_first, enum tsim_explain_extent extent,
                                        struct tsim_explanation *explanation, struct tsim_diags *diags) {
    const struct tsim_result *result = &prediction->result;
    const struct tsim_scenario *scenario = result->scenario, *played = result->step.played;
    *explanation = (struct tsim_explanation){.scenario = scenario, .prediction = prediction, .result = result};
    if (!result->step.simulated || extent == TSIM_EXPLAIN_MEMORY)
        return TSIM_OK;
    int32_t critical = tsim_critical_rank(result)->rank, replica = critical / (int32_t)played->parallelism.pipeline;
    explanation->timeline = of_first;
    if (replica > 0 || !of_first)
        TSIM_TRY(play_again(arena, played, replica, &explanation->timeline, diags));
    explanation->flow = *result->step.flow;
    if (played->data.has)
        tsim_input_pipeline_of(played, tsim_placement_build(arena, played), &explanation->pipeline);
    explanation->link_utilizations = result->step.simulation->link_utilizations;
    explanation->n_link_utilizations = result->step.simulation->n_link_utilizations;
    explanation->account = result->step.simulation->stage_groups[critical];
    return extent == TSIM_EXPLAIN_ALL ? tsim_sensitivities_run(arena, scenario, &explanation->sensitivities, diags)
                                      : TSIM_OK;
}

static void print_title(FILE *out, const struct tsim_style *style, const struct tsim_result *result) {
    const struct tsim_post_training *round = &result->post_training;
    char text[64];
    fprintf(out, "%s%s%s\n", tsim_tint_on(style, TSIM_TINT_BOLD), result->scenario->name, tsim_tint_off(style));
    if (result->step.simulated)
        fprintf(out, "a step of %s, bottleneck %s\n",
                tsim_quantity_human(result->step.terms.time_s, TSIM_TIME_S, text, sizeof text),
                tsim_bottleneck_kind(result));
    if (round->has)
        fprintf(out, "trains in a round of %s; its parts: tsim explain SCENARIO post_training.time_s\n",
                tsim_quantity_human(round->time_s, TSIM_TIME_S, text, sizeof text));
}

void tsim_explain_print(FILE *out, const struct tsim_style *style, const struct tsim_explanation *explanation) {
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    print_title(out, style, explanation->result);
    for (size_t i = 0; i < N_SECTIONS; i++)
        if (applies(SECTIONS[i], explanation))
            print_section(SECTIONS[i], &arena, out, style, explanation);
    tsim_arena_release(&arena);
}

struct csv {
    FILE *out;
    bool has_table;
};

static void take_csv(void *context, const struct tsim_figures *figures) {
    struct csv *csv = context;
    if (csv->has_table)
        fputc('\n', csv->out);
    csv->has_table = true;
    tsim_figures_print_csv(figures, csv->out);
}

void tsim_explain_print_csv(FILE *out, const struct tsim_explanation *explanation) {
    struct csv csv = {.out = out};
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    for (size_t i = 0; i < N_SECTIONS; i++)
        if (applies(SECTIONS[i], explanation))
            take_tables(SECTIONS[i], &arena, explanation, take_csv, &csv);
    tsim_arena_release(&arena);
}

static void take_json(void *context, const struct tsim_figures *figures) {
    tsim_figures_json(figures, context);
}

struct tsim_json *tsim_explain_json(const struct tsim_explanation *explanation) {
    const struct tsim_result *result = explanation->result;
    struct tsim_json *root = tsim_json_new_object();
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    tsim_json_text(root, "schema", "tsim/explain/v1");
    tsim_json_text(root, "scenario", explanation->scenario->name);
    tsim_json_text(root, "status", tsim_result_status(result));
    if (result->step.simulated) {
        tsim_json_number(root, "step_time_s", result->step.terms.time_s);
        tsim_json_text(root, "bottleneck", tsim_bottleneck_kind(result));
    }
    for (size_t i = 0; i < N_SECTIONS; i++)
        if (applies(SECTIONS[i], explanation))
            take_tables(SECTIONS[i], &arena, explanation, take_json, root);
    tsim_arena_release(&arena);
    return root;
}
