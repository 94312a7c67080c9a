/* What a report's page shows of a search for plans. */
#include "report/page/page.h"
#include "workload/model.h"

#include <string.h>

static void add_value(struct tsim_json *values, enum tsim_plan_key key, int64_t value) {
    if (key == TSIM_PLAN_RECOMPUTE)
        tsim_json_text(values, NULL, tsim_recompute_name((enum tsim_recompute)value));
    else if (key == TSIM_PLAN_SCHEDULE)
        tsim_json_text(values, NULL, tsim_schedule_name((enum tsim_schedule)value));
    else if (key == TSIM_PLAN_LAYERS)
        tsim_json_text(values, NULL, value ? "balance" : "auto");
    else if (key == TSIM_PLAN_SEQUENCE)
        tsim_json_bool(values, NULL, value != 0);
    else
        tsim_json_integer(values, NULL, value);
}

/* A candidate: what is set for it, its accelerators, and the values that each key of the plan may take. */
static void add_candidate(struct tsim_json *space, const struct tsim_plan_candidate *candidate) {
    struct tsim_json *object = tsim_json_object(space, NULL);
    struct tsim_json *set = tsim_json_object(object, "set"), *axes = tsim_json_object(object, "axes");
    const struct tsim_scenario *job = candidate->job;
    for (size_t i = 0; i < candidate->n_settings; i++)
        tsim_json_text(set, candidate->settings[i]->path, candidate->settings[i]->text);
    tsim_json_integer(object, "accelerators", job->n_accelerators);
    tsim_json_text(object, "accelerator", job->cluster.node->accelerator->name);
    tsim_json_text(object, "node", job->cluster.node->name);
    for (int key = 0; key < TSIM_N_PLAN_KEYS; key++) {
        struct tsim_json *values = tsim_json_array(axes, tsim_plan_key_path((enum tsim_plan_key)key));
        for (size_t i = 0; i < candidate->axes[key].n; i++)
            add_value(values, (enum tsim_plan_key)key, candidate->axes[key].values[i]);
    }
}

void tsim_page_add_plans(struct tsim_arena *arena, struct tsim_json *page, const struct tsim_plan_output *output) {
    const struct tsim_plan_space *space = output->search->space;
    const struct tsim_ranking *ranking = &output->search->ranking;
    struct tsim_json *plans = tsim_plan_json(arena, output), *candidates = tsim_json_array(plans, "space");
    for (size_t i = 0; i < space->n_candidates && i < TSIM_PAGE_MOST_CANDIDATES; i++)
        add_candidate(candidates, &space->candidates[i]);
    struct tsim_json *limits = tsim_json_object(plans, "limits");
    for (size_t i = 0; i < ranking->n_limits; i++)
        tsim_json_number(limits, tsim_outcome_spec(ranking->limits[i].figure)->name, ranking->limits[i].value);
    tsim_json_integer(plans, "combinations", space->n_points);
    tsim_json_integer(plans, "tokens_per_sample", space->candidates[0].job->training.sequence_length);
    tsim_json_bool(plans, "of_samples", tsim_model_is_of_samples(space->candidates[0].job->model));
    tsim_json_integer(plans, "candidates", (int64_t)space->n_candidates);
    tsim_json_take(tsim_json_member(page, "plans"), NULL, plans);
}
