#include "study/robust.h"

#include <math.h>

static double tokens_of(const struct tsim_result *r) {
    return (double)r->scenario->training.global_batch_size * (double)r->scenario->training.sequence_length;
}

static double time_of(const struct tsim_result *r) {
    return r->step.time_s / tokens_of(r);
}

static void compare_intervals(const struct tsim_result *a, const struct tsim_result *b, struct tsim_robust *robust) {
    robust->has_intervals = a->uncertainty.basis && b->uncertainty.basis;
    if (robust->has_intervals)
        robust->intervals_overlap =
            a->uncertainty.step_time_low_s / tokens_of(a) <= b->uncertainty.step_time_high_s / tokens_of(b) &&
            b->uncertainty.step_time_low_s / tokens_of(b) <= a->uncertainty.step_time_high_s / tokens_of(a);
}

static double rent_of(const struct tsim_result *r) {
    double usd_per_s = r->scenario->cost.rent_usd_per_s * (double)r->scenario->n_accelerators;
    return usd_per_s > 0 ? usd_per_s * time_of(r) : (double)NAN;
}

/* B / A - 1 is `frac`; with one side's value multiplied by `factor`, is the other one less? Equal ones have no order.
 */
static bool turns(double frac, int side, double factor) {
    double changed = side == 0 ? (1 + frac) / factor : (1 + frac) * factor;
    return (frac < 0 && changed > 1) || (frac > 0 && changed < 1);
}

static void add_row(struct tsim_robust *robust, struct tsim_robust_row row, bool is_rent) {
    double less = 1 + row.less_frac, more = 1 + row.more_frac;
    row.flips_time = !is_rent && (turns(robust->time_frac, row.side, less) || turns(robust->time_frac, row.side, more));
    row.flips_cost = turns(robust->cost_frac, row.side, less) || turns(robust->cost_frac, row.side, more);
    robust->time_survives &= !row.flips_time;
    robust->cost_survives &= !row.flips_cost;
    robust->rows[robust->n++] = row;
}

static enum tsim_status add_side(struct tsim_arena *arena, struct tsim_robust *robust, int side,
                                 const struct tsim_result *result, struct tsim_diags *diags) {
    struct tsim_sensitivities list;
    TSIM_TRY(tsim_sensitivities_run(arena, result->scenario, &list, diags));
    for (int32_t i = 0; i < list.n; i++) {
        const struct tsim_sensitivity *s = &list.rows[i];
        add_row(robust,
                (struct tsim_robust_row){.side = side,
                                         .name = s->name,
                                         .key = s->key,
                                         .less_frac = s->less_time_s / result->step.time_s - 1,
                                         .more_frac = s->more_time_s / result->step.time_s - 1},
                false);
    }
    if (!isnan(robust->cost_frac))
        add_row(robust,
                (struct tsim_robust_row){.side = side,
                                         .name = "rent",
                                         .key = "rent",
                                         .less_frac = -TSIM_SENSITIVITY_STEP_FRAC,
                                         .more_frac = TSIM_SENSITIVITY_STEP_FRAC},
                true);
    return TSIM_OK;
}

enum tsim_status tsim_robust_run(struct tsim_arena *arena, const struct tsim_result *a, const struct tsim_result *b,
                                 struct tsim_robust *robust, struct tsim_diags *diags) {
    *robust =
        (struct tsim_robust){.rows = TSIM_NEW_ARRAY(arena, 2 * (TSIM_MOST_SENSITIVITIES + 1), struct tsim_robust_row),
                             .time_frac = time_of(b) / time_of(a) - 1,
                             .cost_frac = rent_of(b) / rent_of(a) - 1,
                             .time_survives = true,
                             .cost_survives = true,
                             .rent_usd_per_s = {a->scenario->cost.rent_usd_per_s, b->scenario->cost.rent_usd_per_s}};
    robust->even_rent_usd_per_s = robust->rent_usd_per_s[1] / (1 + robust->cost_frac);
    compare_intervals(a, b, robust);
    TSIM_TRY(add_side(arena, robust, 0, a, diags));
    return add_side(arena, robust, 1, b, diags);
}
