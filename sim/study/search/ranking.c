#include "study/search/ranking.h"

#include <math.h>
#include <stdio.h>

static void explain_unknown(struct tsim_diag *diag, const char *near) {
    if (near)
        tsim_diag_hint(diag, "did you mean '%s'?", near);
    else
        tsim_diag_hint(diag, "figures have the names of the summary's JSON: tokens_per_s, mfu, step.time_s");
}

static const char NO_GOAL[] = "more or less of it is neither better nor worse";

/* Finds a figure by which points can be ranked; returns false if there is none of that name. */
static bool find(const char *name, enum tsim_outcome_figure *figure, const char **near, const char **why) {
    *near = NULL;
    if (!tsim_outcome_find(name, figure, near)) {
        *why = tsim_outcome_why_not_of_points(name);
        *near = *why ? NULL : *near;
        *why = *why ? *why : "no figure has this name";
        return false;
    }
    *why = NO_GOAL;
    return tsim_outcome_spec(*figure)->goal != TSIM_GOAL_NONE;
}

static void read_objective(const struct tsim_value *value, const char *word, struct tsim_ranking *ranking,
                           struct tsim_diags *diags) {
    const char *near, *why;
    if (word) {
        if (!find(word, &ranking->objective, &near, &why))
            explain_unknown(tsim_diags_error(diags, TSIM_ERR_SCHEMA, (struct tsim_place){.file = "--objective"}, NULL,
                                             "'%.60s': %s", word, why),
                            near);
    } else if (value && (value->kind != TSIM_VALUE_SCALAR || !find(value->text, &ranking->objective, &near, &why))) {
        bool is_scalar = value->kind == TSIM_VALUE_SCALAR;
        explain_unknown(tsim_value_error(diags, TSIM_ERR_SCHEMA, value, "sweep.objective", "'%.60s': %s",
                                         is_scalar ? value->text : tsim_value_kind_name(value),
                                         is_scalar ? why : "expected the name of a figure"),
                        is_scalar ? near : NULL);
    }
}

static bool read_limit(const struct tsim_pair *pair, struct tsim_limit *limit, struct tsim_diags *diags) {
    char why_not[160], hint[160];
    const char *near, *why;
    if (!find(pair->key, &limit->figure, &near, &why)) {
        explain_unknown(tsim_pair_error(diags, TSIM_ERR_SCHEMA, pair, "sweep.limits", "'%.60s': %s", pair->key, why),
                        near);
        return false;
    }
    if (pair->value->kind != TSIM_VALUE_SCALAR) {
        tsim_value_error(diags, TSIM_ERR_SCHEMA, pair->value, "sweep.limits", "expected a number, found %s",
                         tsim_value_kind_name(pair->value));
        return false;
    }
    enum tsim_dimension dimension = tsim_outcome_spec(limit->figure)->unit->dimension;
    if (tsim_quantity_parse(pair->value->text, dimension, tsim_name_says_unit(pair->key), &limit->value, why_not,
                            hint) == TSIM_OK) {
        if (limit->value >= 0)
            return true;
        snprintf(why_not, sizeof why_not, "no figure keeps a limit below 0");
        snprintf(hint, sizeof hint, "write the limit as a number with its unit, such as 60");
    }
    tsim_diag_hint(tsim_value_error(diags, TSIM_ERR_UNIT, pair->value, "sweep.limits", "%s", why_not), "%s", hint);
    return false;
}

static void read_limits(struct tsim_arena *arena, const struct tsim_value *value, struct tsim_ranking *ranking,
                        struct tsim_diags *diags) {
    if (value->kind != TSIM_VALUE_MAPPING) {
        tsim_value_error(diags, TSIM_ERR_SCHEMA, value, "sweep.limits", "expected figures with a value each, found %s",
                         tsim_value_kind_name(value));
        return;
    }
    struct tsim_limit *limits = TSIM_NEW_ARRAY(arena, value->n_items, struct tsim_limit);
    for (size_t i = 0; i < value->n_items; i++)
        ranking->n_limits += read_limit(&value->pairs[i], &limits[ranking->n_limits], diags);
    ranking->limits = limits;
}

enum tsim_status tsim_ranking_read(struct tsim_arena *arena, const struct tsim_value *section, const char *objective,
                                   struct tsim_ranking *ranking, struct tsim_diags *diags) {
    size_t n_errors = diags->n_errors;
    const struct tsim_value *limits = tsim_value_find(section, "limits");
    *ranking = (struct tsim_ranking){.objective = TSIM_OUTCOME_TOKENS_PER_S,
                                     .is_said = objective || tsim_value_find(section, "objective")};
    read_objective(tsim_value_find(section, "objective"), objective, ranking, diags);
    if (limits)
        read_limits(arena, limits, ranking, diags);
    return diags->n_errors == n_errors ? TSIM_OK : TSIM_ERR_SCHEMA;
}

void tsim_ranking_suit(struct tsim_ranking *ranking, bool has_rounds) {
    if (!ranking->is_said && has_rounds)
        ranking->objective = TSIM_OUTCOME_POST_TRAINING_SAMPLES_PER_S;
}

bool tsim_ranking_admits(const struct tsim_ranking *ranking, const struct tsim_point *point) {
    if (point->status != TSIM_POINT_OK || isnan(point->outcome.value[ranking->objective]))
        return false;
    for (size_t i = 0; i < ranking->n_limits; i++) {
        const struct tsim_limit *limit = &ranking->limits[i];
        double value = point->outcome.value[limit->figure];
        bool is_least = tsim_outcome_spec(limit->figure)->goal == TSIM_GOAL_MORE;
        if (!(is_least ? value >= limit->value : value <= limit->value)) /* false for NAN, too */
            return false;
    }
    return true;
}

bool tsim_ranking_is_better(const struct tsim_ranking *ranking, const struct tsim_point *a,
                            const struct tsim_point *b) {
    double left = a->outcome.value[ranking->objective], right = b->outcome.value[ranking->objective];
    if (left == right)
        return a->position < b->position;
    return (tsim_outcome_spec(ranking->objective)->goal == TSIM_GOAL_MORE) == (left > right);
}

double tsim_limit_miss(const struct tsim_limit *limit, double value) {
    bool is_least = tsim_outcome_spec(limit->figure)->goal == TSIM_GOAL_MORE;
    return (is_least ? limit->value - value : value - limit->value) / fabs(limit->value);
}

void tsim_best_offer(struct tsim_best *best, const struct tsim_ranking *ranking, const struct tsim_point *point) {
    if (!tsim_ranking_admits(ranking, point))
        return;
    size_t at = best->n;
    while (at > 0 && tsim_ranking_is_better(ranking, point, &best->points[at - 1]))
        at--;
    if (at == TSIM_BEST_POINTS)
        return;
    best->n += best->n < TSIM_BEST_POINTS;
    for (size_t i = best->n - 1; i > at; i--)
        best->points[i] = best->points[i - 1];
    best->points[at] = *point;
}
