#include "study/search/robust.h"

#include <math.h>
#include <string.h>

static double tokens_of(const struct tsim_result *r) {
    return (double)r->scenario->training.global_batch_size * (double)r->scenario->training.sequence_length;
}

static double time_of(const struct tsim_result *r) {
    return r->step.terms.time_s / tokens_of(r);
}

static void compare_intervals(const struct tsim_prediction *a, const struct tsim_prediction *b,
                              struct tsim_robust *robust) {
    robust->has_intervals = a->uncertainty.basis && b->uncertainty.basis;
    if (robust->has_intervals)
        robust->intervals_overlap = a->uncertainty.step_time_low_s / tokens_of(&a->result) <=
                                        b->uncertainty.step_time_high_s / tokens_of(&b->result) &&
                                    b->uncertainty.step_time_low_s / tokens_of(&b->result) <=
                                        a->uncertainty.step_time_high_s / tokens_of(&a->result);
}

static double rent_of(const struct tsim_result *r) {
    double usd_per_s = r->scenario->cost.rent_usd_per_s * (double)r->scenario->n_accelerators;
    return usd_per_s > 0 ? usd_per_s * time_of(r) : (double)NAN;
}

/* B / A - 1 is `frac`. Returns whether the other one is less if one side's value is multiplied by `factor`. Equal ones
 * have no order. */
static bool turns(double frac, int side, double factor) {
    double changed = side == 0 ? (1 + frac) / factor : (1 + frac) * factor;
    return (frac < 0 && changed > 1) || (frac > 0 && changed < 1);
}

static void add_row(struct tsim_robust *robust, struct tsim_robust_row row, bool is_rent) {
    double less = 1 + row.less_frac, more = 1 + row.more_frac;
    int side = row.side == TSIM_BOTH_SIDES ? 1 : row.side; /* of both: what it does to B's against A's */
    row.flips_time = !is_rent && (turns(robust->time_frac, side, less) || turns(robust->time_frac, side, more));
    row.flips_cost = turns(robust->cost_frac, side, less) || turns(robust->cost_frac, side, more);
    robust->time_survives &= !row.flips_time;
    robust->cost_survives &= !row.flips_cost;
    robust->rows[robust->n++] = row;
}

static bool is_same(const char *a, const char *b) {
    return a && b && strcmp(a, b) == 0;
}

/* Returns whether it is one input of one part that both sides have, so that it cannot be off for one alone. */
static bool is_shared(const struct tsim_scenario *a, const struct tsim_scenario *b, const struct tsim_sensitivity *of_a,
                      const struct tsim_sensitivity *of_b) {
    const struct tsim_node *node_a = a->cluster.node, *node_b = b->cluster.node;
    const struct tsim_fabric *fabric_a = a->cluster.fabric, *fabric_b = b->cluster.fabric;
    if (!of_a || !of_b || of_a->value != of_b->value)
        return false;
    if (strncmp(of_a->key, "scale_up", 8) == 0)
        return is_same(node_a->name, node_b->name);
    if (strncmp(of_a->key, "nic", 3) == 0 || strncmp(of_a->key, "fabric", 6) == 0)
        return fabric_a && fabric_b && is_same(fabric_a->name, fabric_b->name);
    if (strncmp(of_a->key, "host", 4) == 0)
        return is_same(a->software->name, b->software->name);
    if (strncmp(of_a->key, "storage", 7) == 0)
        return a->data.storage && b->data.storage && is_same(a->data.storage->name, b->data.storage->name);
    return strncmp(of_a->key, "sample", 6) == 0 || is_same(node_a->accelerator->name, node_b->accelerator->name);
}

static const struct tsim_sensitivity *find(const struct tsim_sensitivities *list, const char *key) {
    for (int32_t i = 0; i < list->n; i++)
        if (strcmp(list->rows[i].key, key) == 0)
            return &list->rows[i];
    return NULL;
}

static void add_input(struct tsim_robust *robust, int side, const struct tsim_sensitivity *s, double less_frac,
                      double more_frac) {
    add_row(robust,
            (struct tsim_robust_row){
                .side = side, .name = s->name, .key = s->key, .less_frac = less_frac, .more_frac = more_frac},
            false);
}

static void add_rents(struct tsim_robust *robust, const struct tsim_scenario *a, const struct tsim_scenario *b) {
    bool is_one = robust->rent_usd_per_s[0] == robust->rent_usd_per_s[1] &&
                  is_same(a->cluster.node->accelerator->name, b->cluster.node->accelerator->name);
    for (int side = 0; side < 2 && !isnan(robust->cost_frac); side++) {
        double off = is_one ? 0 : TSIM_SENSITIVITY_STEP_FRAC; /* one rent for both changes nothing */
        add_row(robust,
                (struct tsim_robust_row){.side = is_one ? TSIM_BOTH_SIDES : side,
                                         .name = "rent",
                                         .key = "rent",
                                         .less_frac = is_one ? 0 : -off,
                                         .more_frac = off},
                true);
        if (is_one)
            return;
    }
}

/* Adds the inputs that both sides share, then A's own, then B's. */
static void add_inputs(struct tsim_robust *robust, const struct tsim_result *results[2],
                       const struct tsim_sensitivities lists[2]) {
    const struct tsim_scenario *a = results[0]->scenario, *b = results[1]->scenario;
    double step_s[] = {results[0]->step.terms.time_s, results[1]->step.terms.time_s};
    for (int32_t i = 0; i < lists[0].n; i++) {
        const struct tsim_sensitivity *x = &lists[0].rows[i], *y = find(&lists[1], x->key);
        if (is_shared(a, b, x, y))
            add_input(robust, TSIM_BOTH_SIDES, x, y->less_time_s / step_s[1] / (x->less_time_s / step_s[0]) - 1,
                      y->more_time_s / step_s[1] / (x->more_time_s / step_s[0]) - 1);
    }
    for (int side = 0; side < 2; side++)
        for (int32_t i = 0; i < lists[side].n; i++) {
            const struct tsim_sensitivity *own = &lists[side].rows[i], *other = find(&lists[1 - side], own->key);
            if (!is_shared(a, b, side == 0 ? own : other, side == 0 ? other : own))
                add_input(robust, side, own, own->less_time_s / step_s[side] - 1, own->more_time_s / step_s[side] - 1);
        }
    add_rents(robust, a, b);
}

enum tsim_status tsim_robust_run(struct tsim_arena *arena, const struct tsim_prediction *a,
                                 const struct tsim_prediction *b, struct tsim_robust *robust,
                                 struct tsim_diags *diags) {
    const struct tsim_result *results[] = {&a->result, &b->result};
    *robust = (struct tsim_robust){
        .rows = TSIM_NEW_ARRAY(arena, 2 * (TSIM_MOST_SENSITIVITIES + 1), struct tsim_robust_row),
        .time_frac = time_of(results[1]) / time_of(results[0]) - 1,
        .cost_frac = rent_of(results[1]) / rent_of(results[0]) - 1,
        .time_survives = true,
        .cost_survives = true,
        .rent_usd_per_s = {results[0]->scenario->cost.rent_usd_per_s, results[1]->scenario->cost.rent_usd_per_s}};
    robust->even_rent_usd_per_s = robust->rent_usd_per_s[1] / (1 + robust->cost_frac);
    compare_intervals(a, b, robust);
    struct tsim_sensitivities lists[2];
    TSIM_TRY(tsim_sensitivities_run(arena, results[0]->scenario, &lists[0], diags));
    TSIM_TRY(tsim_sensitivities_run(arena, results[1]->scenario, &lists[1], diags));
    add_inputs(robust, results, lists);
    return TSIM_OK;
}
