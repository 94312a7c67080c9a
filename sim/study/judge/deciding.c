#include "study/judge/deciding.h"

#include "base/stop.h"
#include "study/interrupt.h"

#include <math.h>

static bool is_asked_to_end(void *context) {
    (void)context;
    return tsim_is_interrupted();
}

void tsim_deciding_heed(void) {
    tsim_stop_set(is_asked_to_end, NULL);
}

struct tsim_plan_search tsim_deciding_search(const struct tsim_deciding *d, const struct tsim_plan_space *space) {
    return (struct tsim_plan_search){.space = space,
                                     .ranking = {.objective = TSIM_OUTCOME_STEP_TIME},
                                     .n_threads = d->search->n_threads,
                                     .is_for_candidates = true,
                                     .heeds_interrupt = d->search->heeds_interrupt};
}

enum tsim_status tsim_deciding_know(struct tsim_deciding *d, const struct tsim_plan *bound) {
    struct tsim_plan_space *space = TSIM_NEW(d->arena, struct tsim_plan_space);
    struct tsim_plan_result *result = TSIM_NEW(d->arena, struct tsim_plan_result);
    struct tsim_plan_candidate *candidate = TSIM_NEW(d->arena, struct tsim_plan_candidate);
    struct tsim_plan *never = TSIM_NEW(d->arena, struct tsim_plan);
    struct tsim_plan_search search = tsim_deciding_search(d, space);
    *candidate = *bound->candidate;
    candidate->first_position = 0;
    *space = (struct tsim_plan_space){candidate, 1, candidate->n_points, TSIM_PLAN_COARSE};
    *never = *bound;
    never->knowledge = TSIM_PLAN_SIMULATED;
    for (int i = 0; i < TSIM_DISTRIBUTION_POINTS; i++)
        never->days_at.at[i] = (double)INFINITY;
    never->days = tsim_points_percentiles(never->days_at.at, TSIM_DISTRIBUTION_POINTS);
    enum tsim_status status = tsim_plan_run(d->arena, &search, NULL, NULL, result, d->diags);
    if (d->heeds)
        tsim_deciding_heed(); /* the search had its own */
    TSIM_TRY(status);
    d->decision->n_simulated += result->n_evaluated;
    d->decision->is_interrupted |= result->is_interrupted;
    const struct tsim_plan *plan = result->n_own > 0 && !result->own[0].is_left_out ? &result->own[0] : never;
    for (size_t i = 0; i < d->decision->n_offers; i++) {
        struct tsim_offer *offer = &d->decision->offers[i];
        if (offer->plan != bound)
            continue;
        if (!tsim_offer_make(plan, offer->purchase, offer))
            tsim_offer_make(never, offer->purchase, offer);
        offer->is_screened = d->is_screened;
    }
    return TSIM_OK;
}

const struct tsim_plan *tsim_deciding_play(struct tsim_deciding *d, const struct tsim_plan *screened,
                                           enum tsim_detail detail, double failures) {
    struct tsim_plan *plan = TSIM_NEW(d->arena, struct tsim_plan);
    const struct tsim_scenario *scenario;
    struct tsim_arena scratch;
    tsim_arena_init(&scratch);
    *plan = *screened;
    bool is_good = tsim_scenario_replan(&scratch, plan->candidate->job, &plan->choice, &scenario);
    if (is_good) {
        struct tsim_scenario whole = *scenario;
        whole.simulation.detail = detail;
        whole.reliability.node_mtbf_s /= failures;
        for (int c = 0; c < TSIM_N_COMPONENTS; c++)
            whole.reliability.component_mtbf_s[c] /= failures;
        /* The search has played it, if only by its passes. */
        is_good = tsim_plan_play(d->arena, &d->evidence, &whole, plan, TSIM_UNHEARD) == TSIM_OK;
    }
    tsim_arena_release(&scratch);
    return is_good ? plan : NULL;
}
