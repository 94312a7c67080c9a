/* arena_rig.h, and scenarios in its arena, as a text or shipped by their id, and their training. Everything that a
 * test asks for must succeed; try_text alone may fail. */
#pragma once

#include "config/catalogue_load.h"
#include "run/run.h"
#include "support/arena_rig.h"

/* To rounding, as sums of many terms are. */
#define SAME(actual, expected) ck_assert_double_eq_tol(actual, expected, 1e-6 * (expected))

/* Returns the scenario; NULL: the text has mistakes, which are in `diags`. */
static inline const struct tsim_scenario *try_text(const char *yaml) {
    struct tsim_scenario_source source;
    const struct tsim_scenario *scenario = NULL;
    bool is_good = tsim_scenario_open_text(&arena, "test.yaml", yaml, &source, &diags) == TSIM_OK &&
                   tsim_scenario_load_from(&arena, &source, NULL, 0, &scenario, &diags) == TSIM_OK;
    return is_good ? scenario : NULL;
}

static inline const struct tsim_scenario *load_text(const char *yaml) {
    const struct tsim_scenario *scenario = try_text(yaml);
    ck_assert_msg(scenario != NULL, "%s", diags.n_items > 0 ? diags.items[0].message : "no scenario");
    return scenario;
}

static inline const struct tsim_scenario *load_shipped(const char *id, const struct tsim_override *overrides,
                                                       size_t n_overrides) {
    const struct tsim_scenario *scenario = NULL;
    const char *file = tsim_catalogue_file(&arena, TSIM_CATALOGUE_SCENARIOS, id);
    ck_assert_msg(file != NULL, "no scenario %s", id);
    ck_assert_int_eq(tsim_scenario_load(&arena, file, overrides, n_overrides, &scenario, &diags), TSIM_OK);
    return scenario;
}

/* Refused where it does not fit in memory. Brief: figures alone, no tables and no bottleneck. */
static inline struct tsim_result train_by(const struct tsim_scenario *scenario, bool is_brief) {
    const struct tsim_run_options options = {.is_brief = is_brief};
    struct tsim_result result;
    ck_assert_int_eq(tsim_train_run(&arena, scenario, &options, &result, &diags), TSIM_OK);
    ck_assert(result.step.fits);
    return result;
}

static inline struct tsim_result train(const struct tsim_scenario *scenario) {
    return train_by(scenario, true);
}

static inline struct tsim_result train_fully(const struct tsim_scenario *scenario) {
    return train_by(scenario, false);
}
