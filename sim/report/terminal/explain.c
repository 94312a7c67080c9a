#include "report/terminal/explain.h"

#include "report/terminal/explain_sections.h"
#include "results/verdict.h"

/* The sections stand in the order in which they are printed. */
static const struct tsim_explain_section *const SECTIONS[] = {
    &tsim_explain_memory, &tsim_explain_operators,   &tsim_explain_schedule,
    &tsim_explain_path,   &tsim_explain_overlap,     &tsim_explain_links,
    &tsim_explain_input,  &tsim_explain_sensitivity, &tsim_explain_advice};
enum { N_SECTIONS = sizeof SECTIONS / sizeof SECTIONS[0] };

static bool applies(const struct tsim_explain_section *section, const struct tsim_explanation *explanation) {
    return explanation->result->step.simulated || !section->needs_step;
}

/* Plays the step once more, and listens. */
static enum tsim_status play_again(struct tsim_arena *arena, struct tsim_explanation *explanation,
                                   struct tsim_diags *diags) {
    const struct tsim_scenario *sc = explanation->result->step.played;
    const struct tsim_cluster *cluster = tsim_cluster_build(arena, sc);
    const struct tsim_placement *placement = tsim_placement_build(arena, sc);
    struct tsim_pass_costs costs;
    struct tsim_step_simulation simulation;
    struct tsim_step_sink sink;
    int32_t critical = tsim_explain_critical_rank(explanation->result)->rank;
    explanation->timeline = tsim_timeline_listen(arena, sc, critical / (int32_t)sc->parallelism.pipeline, &sink);
    tsim_pass_costs_build(sc, cluster, placement, &costs);
    TSIM_TRY(tsim_step_simulate_with_input(arena, sc, cluster, placement, &costs, &sink, &simulation,
                                           &explanation->flow, diags));
    if (sc->data.has)
        tsim_input_pipeline_of(sc, placement, &explanation->pipeline);
    explanation->link_utilizations = simulation.link_utilizations;
    explanation->n_link_utilizations = simulation.n_link_utilizations;
    explanation->account = simulation.stage_groups[critical];
    return TSIM_OK;
}

enum tsim_status tsim_explanation_build(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                        const struct tsim_prediction *prediction, bool has_sensitivities,
                                        struct tsim_explanation *explanation, struct tsim_diags *diags) {
    const struct tsim_result *result = &prediction->result;
    scenario = result->scenario; /* balanced, where it asked for that */
    *explanation = (struct tsim_explanation){.scenario = scenario, .prediction = prediction, .result = result};
    if (!result->step.simulated)
        return TSIM_OK;
    TSIM_TRY(play_again(arena, explanation, diags));
    return has_sensitivities ? tsim_sensitivities_run(arena, scenario, &explanation->sensitivities, diags) : TSIM_OK;
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
            SECTIONS[i]->print(&arena, out, style, explanation);
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
            SECTIONS[i]->tables(&arena, explanation, take_csv, &csv);
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
            SECTIONS[i]->tables(&arena, explanation, take_json, root);
    tsim_arena_release(&arena);
    return root;
}
