/* The input pipeline of the node that feeds most: what each part could deliver alone, and how busy it is. */
#include "partition/partition.h"
#include "report/terminal/explain_sections.h"

#include <math.h>

static void add_part(struct tsim_figures *figures, const char *name, double samples_per_s, double busy_frac) {
    tsim_figures_add_text(figures, name);
    tsim_figures_add(figures, samples_per_s);
    tsim_figures_add(figures, busy_frac);
}

/* Samples that the node's replicas train on in a step. */
static double samples_per_step(const struct tsim_explanation *explanation) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(explanation->scenario);
    return (double)explanation->pipeline.n_consumers * tsim_schedule_chunk_microbatches(&shape) *
           (double)explanation->scenario->training.micro_batch_size;
}

static double over(double a, double b) {
    return b > 0 ? a / b : (double)NAN;
}

static void fill(struct tsim_arena *arena, const struct tsim_explanation *explanation, struct tsim_figures *figures) {
    static const struct tsim_figure_column COLUMNS[] = {{"part", "part", TSIM_FIGURE_TEXT},
                                                        {"samples/s", "samples_per_s", TSIM_FIGURE_AMOUNT},
                                                        {"busy", "busy", TSIM_FIGURE_SHARE}};
    const struct tsim_input_pipeline *f = &explanation->pipeline;
    const struct tsim_input_pipeline_flow *flow = &explanation->flow;
    const struct tsim_step_terms *t = &explanation->result->step.terms;
    double batch = (double)explanation->scenario->training.micro_batch_size, step = samples_per_step(explanation);
    double cores = f->cores > 0 ? fmin(f->cores, f->workers) : f->workers;
    tsim_figures_init(figures, arena, "input", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    add_part(figures, "storage", batch * over(f->storage_bytes_per_s, f->read_bytes), flow->storage_frac);
    add_part(figures, "workers, reading", batch * f->workers / f->read_alone_s, flow->reading_frac);
    add_part(figures, "workers, transforming", batch * over(cores, f->cpu_s), flow->transform_frac);
    add_part(figures, "copies to accelerators",
             batch * f->n_consumers *
                 over(f->link_bytes_per_s > 0 ? f->link_bytes_per_s : (double)NAN, f->transfer_bytes),
             flow->link_frac);
    add_part(figures, "accelerators", step / (t->time_s - t->data_stall_s), 1 - t->data_stall_s / t->time_s);
    add_part(figures, "delivered", step / t->time_s, (double)NAN);
}

static void tables(struct tsim_arena *arena, const struct tsim_explanation *explanation, tsim_explain_take_fn take,
                   void *context) {
    struct tsim_figures figures;
    if (!explanation->scenario->data.has)
        return;
    fill(arena, explanation, &figures);
    take(context, &figures);
}

static void print(struct tsim_arena *arena, FILE *out, const struct tsim_style *style,
                  const struct tsim_explanation *explanation) {
    struct tsim_figures figures;
    if (!explanation->scenario->data.has)
        return;
    fill(arena, explanation, &figures);
    tsim_explain_heading(out, style, "input of a node: what each part could deliver alone, and how busy it is");
    tsim_figures_print(&figures, style, out);
}

const struct tsim_explain_section tsim_explain_input = {.needs_step = true, .tables = tables, .print = print};
