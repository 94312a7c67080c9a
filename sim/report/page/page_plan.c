/* The data of a search for plans that a report's page shows. */
#include "model/model.h"
#include "report/page/page.h"

#include <math.h>
#include <string.h>

static void add_value(struct tsim_arena *arena, struct tsim_json *values, enum tsim_plan_key key, int64_t value) {
    if (key == TSIM_PLAN_SEQUENCE)
        tsim_json_bool(values, NULL, value != 0);
    else if (tsim_plan_key_has_words(key))
        tsim_json_text(values, NULL, tsim_plan_key_text(arena, key, value));
    else
        tsim_json_integer(values, NULL, value);
}

/* Adds a candidate: its settings, its accelerators, and the values that each key of the plan may take. */
static void add_candidate(struct tsim_arena *arena, struct tsim_json *space,
                          const struct tsim_plan_candidate *candidate) {
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
            add_value(arena, values, (enum tsim_plan_key)key, candidate->axes[key].values[i]);
    }
}

/* Adds to the summary the plan and its cluster in few words, and what they take: for the whole run if its length is
 * given, else for a trillion tokens or samples. */
static void describe(struct tsim_arena *arena, struct tsim_json *objects, const struct tsim_plan_space *space,
                     const struct tsim_plan *plans, size_t n, double tokens) {
    for (size_t i = 0; i < n; i++) {
        struct tsim_json *object = tsim_json_element(objects, i);
        const struct tsim_plan_price *price = &plans[i].price;
        const double *value = plans[i].point.outcome.value;
        bool has_days = !isnan(value[TSIM_OUTCOME_DAYS]);
        double usd = price->cost_usd > 0 ? tokens * price->cost_usd : (double)NAN;
        tsim_json_text(object, "text", tsim_plan_text(arena, &plans[i]));
        if (space->n_candidates > 1)
            tsim_json_text(object, "cluster_name", tsim_plan_cluster_name(arena, space, plans[i].candidate));
        tsim_json_number(object, "days", has_days ? value[TSIM_OUTCOME_DAYS] : tokens * price->time_s / TSIM_DAY_S);
        tsim_json_number(object, "usd", has_days ? value[TSIM_OUTCOME_RENT] : usd);
        tsim_json_number(object, "wh",
                         has_days ? 1000 * value[TSIM_OUTCOME_ENERGY_KWH] : tokens * price->energy_j / 3600);
        tsim_json_number(object, "usd_per_trillion", usd);
    }
}

static void describe_all(struct tsim_arena *arena, struct tsim_json *plans, const struct tsim_plan_output *output) {
    const struct tsim_plan_space *space = output->search->space;
    const struct tsim_plan_result *result = output->result;
    const struct tsim_scenario *job = space->candidates[0].job;
    bool of_samples = tsim_model_is_of_samples(job->model),
         has_days = result->n_best > 0 && !isnan(result->best[0].point.outcome.value[TSIM_OUTCOME_DAYS]);
    double tokens = of_samples ? 1e12 * (double)job->training.sequence_length : 1e12;
    struct tsim_json *per = tsim_json_object(plans, "per");
    tsim_json_text(per, "title", of_samples ? "T samples" : "T tokens");
    tsim_json_text(per, "rate", of_samples ? "samples/s" : "tokens/s");
    tsim_json_text(per, "of", has_days ? "" : of_samples ? " per T samples" : " per T tokens");
    describe(arena, tsim_json_member(plans, "best"), space, result->best, result->n_best, tokens);
    describe(arena, tsim_json_member(plans, "points"), space, result->front, result->n_front, tokens);
    if (space->n_candidates > 1)
        describe(arena, tsim_json_member(plans, "best_of_each"), space, result->own, result->n_own, tokens);
}

void tsim_page_add_plans(struct tsim_arena *arena, struct tsim_json *page, const struct tsim_plan_output *output) {
    const struct tsim_plan_space *space = output->search->space;
    const struct tsim_ranking *ranking = &output->search->ranking;
    struct tsim_json *plans = tsim_plan_json(arena, output), *candidates = tsim_json_array(plans, "space");
    for (size_t i = 0; i < space->n_candidates && i < TSIM_PAGE_MOST_CANDIDATES; i++)
        add_candidate(arena, candidates, &space->candidates[i]);
    struct tsim_json *limits = tsim_json_array(plans, "limits");
    char name[64], value[64];
    for (size_t i = 0; i < ranking->n_limits; i++) {
        const struct tsim_limit *limit = &ranking->limits[i];
        bool is_least = tsim_outcome_spec(limit->figure)->goal == TSIM_GOAL_MORE;
        tsim_json_text(limits, NULL,
                       tsim_arena_printf(arena, "%s %s %s", tsim_outcome_name(limit->figure, name, sizeof name),
                                         is_least ? "at least" : "at most",
                                         tsim_outcome_text(limit->figure, limit->value, value, sizeof value)));
    }
    tsim_json_text(plans, "ranked_by", tsim_outcome_name(tsim_plan_objective(output), name, sizeof name));
    tsim_json_integer(plans, "combinations", space->n_points);
    describe_all(arena, plans, output);
    tsim_json_bool(plans, "of_samples", tsim_model_is_of_samples(space->candidates[0].job->model));
    tsim_json_integer(plans, "candidates", (int64_t)space->n_candidates);
    tsim_json_take(tsim_json_member(page, "plans"), NULL, plans);
}
