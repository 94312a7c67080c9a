/* A proposal is a --set: a scenario that was read and is changed by tsim_scenario_propose is, to the last resolved value,
 * the one that is read with the same settings, and refused with the same words. Every key of the schema tables
 * (support/every_key.h), drawn, in random scenarios. And a job under a plan that a search proposes is the scenario that
 * is read with the plan's settings. TSIM_CASES says how many scenarios (70), TSIM_SEED from which seed. */
#include "config/draft/scenario_draft.h"
#include "study/search/plan_space.h"
#include "support/arena_rig.h"
#include "support/every_key.h"
#include "support/random_scenario.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define SEED 20261124u
enum { MOST_SETTINGS = 3, MOST_OVERRIDES = 24, PLANS_EACH = 40 };

static struct random_source drawn;

static void renew(void) {
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    set_up();
}

/* A proposal marks no values as estimates. */
static const char *json_of(const struct tsim_scenario *scenario) {
    struct tsim_draft unmarked = *scenario->draft;
    const struct tsim_scenario same = {.draft = &unmarked};
    unmarked.n_estimate_paths = 0;
    return tsim_scenario_json(&arena, &same);
}

static const char *errors_of(const struct tsim_diags *list) {
    const char *text = "";
    for (size_t i = 0; i < list->n_items; i++)
        if (!list->items[i].is_warning)
            text = tsim_arena_printf(&arena, "%s\n%s: %s (%s)", text, list->items[i].field, list->items[i].message,
                                     list->items[i].hint);
    return text;
}

static void check_same_text(const char *proposed, const char *read, const char *said) {
    size_t same = 0, before = 60;
    while (proposed[same] && proposed[same] == read[same])
        same++;
    size_t from = same > before ? same - before : 0;
    ck_assert_msg(strcmp(proposed, read) == 0, "%s: proposed ...%.120s..., read ...%.120s...", said, proposed + from,
                  read + from);
}

/* Checks the settings in both ways; returns whether both take them. */
static bool check_settings(const struct tsim_scenario_source *source, const struct tsim_scenario *base,
                           const struct tsim_override *settings, size_t n) {
    const struct tsim_scenario *proposed, *read;
    struct tsim_diags of_proposal, of_reader;
    const char *said = tsim_settings_text(&arena, settings, n);
    tsim_diags_init(&of_proposal);
    tsim_diags_init(&of_reader);
    bool is_taken = tsim_scenario_propose(&arena, base, settings, n, &proposed, &of_proposal);
    bool is_read = tsim_scenario_load_from(&arena, source, settings, n, &read, &of_reader) == TSIM_OK;
    ck_assert_msg(is_taken == is_read, "%s: read %d, proposed %d:%s%s", said, is_read, is_taken, errors_of(&of_reader),
                  errors_of(&of_proposal));
    if (!is_taken) /* shown in the order of their places by the reader alone */
        ck_assert_uint_eq(of_proposal.n_errors, of_reader.n_errors);
    else
        check_same_text(json_of(proposed), json_of(read), said);
    tsim_diags_release(&of_proposal);
    tsim_diags_release(&of_reader);
    return is_taken;
}

TSIM_TEST(settings) {
    struct tsim_arena own;
    size_t n_keys;
    long n_cases = random_cases(70), n_taken = 0, n_refused = 0;
    drawn = random_start(SEED);
    tsim_arena_init(&own);
    const struct every_key *keys = every_key(&own, &n_keys);
    for (long i = 0; i < n_cases; i++) {
        struct tsim_scenario_source source;
        const struct tsim_scenario *base;
        char *text = random_scenario(&drawn);
        renew();
        if (tsim_scenario_open_text(&arena, "random.yaml", text, &source, &diags) == TSIM_OK &&
            tsim_scenario_load_from(&arena, &source, NULL, 0, &base, &diags) == TSIM_OK)
            for (int k = 0; k < PLANS_EACH; k++) {
                struct tsim_override set[MOST_SETTINGS];
                size_t n = (size_t)random_between(&drawn, 1, MOST_SETTINGS);
                for (size_t s = 0; s < n; s++) {
                    const struct every_key *key = &keys[random_between(&drawn, 0, (int32_t)n_keys - 1)];
                    set[s] = (struct tsim_override){key->path,
                                                    key->values[random_between(&drawn, 0, (int32_t)key->n_values - 1)]};
                }
                bool is_taken = check_settings(&source, base, set, n);
                n_taken += is_taken;
                n_refused += !is_taken;
            }
        free(text);
    }
    printf("proposals: %ld taken, %ld refused\n", n_taken, n_refused);
    tsim_arena_release(&own);
    ck_assert(n_taken > 2 * n_cases && n_refused > 2 * n_cases);
    renew();
}

/* ---- plans ---- */

static size_t overrides_of(const char *set_json, struct tsim_override *overrides) {
    size_t n = 1;
    const char *path;
    json_t *set = json_loads(set_json, 0, NULL), *value;
    ck_assert_ptr_nonnull(set);
    overrides[0] = (struct tsim_override){"variability", "{}"}; /* plans are compared without noise */
    json_object_foreach(set, path, value) {
        char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
        ck_assert_uint_lt(n, MOST_OVERRIDES);
        overrides[n++] = (struct tsim_override){tsim_arena_strdup(&arena, path),
                                                tsim_arena_strdup(&arena, text ? text : json_string_value(value))};
        free(text);
    }
    json_decref(set);
    return n;
}

/* Copies a plan without the fields of a finished scenario that only a search reads which changes its plan. */
static struct tsim_parallelism_spec plan_of(const struct tsim_scenario *sc) {
    struct tsim_parallelism_spec p = sc->parallelism;
    p.says_schedule = p.says_layers = false;
    p.layers_per_chunk = NULL;
    return p;
}

/* Copies the training without its stages: each scenario has its own array of them, at another address. */
static struct tsim_training_spec training_of(const struct tsim_scenario *sc) {
    struct tsim_training_spec t = sc->training;
    t.stages = NULL;
    return t;
}

static void check_same(const struct tsim_scenario *a, const struct tsim_scenario *b, const char *set_json) {
    struct tsim_parallelism_spec p = plan_of(a), q = plan_of(b);
    struct tsim_training_spec t = training_of(a), u = training_of(b);
    ck_assert_msg(memcmp(&p, &q, sizeof p) == 0, "another plan: %s", set_json);
    ck_assert_msg(memcmp(&t, &u, sizeof t) == 0, "another training: %s", set_json);
    ck_assert_msg(a->n_microbatches == b->n_microbatches, "other micro-batches: %s", set_json);
    ck_assert_msg(a->simulation.fold == b->simulation.fold && a->simulation.steps == b->simulation.steps,
                  "another simulation: %s", set_json);
    for (int64_t i = 0; i < tsim_n_model_parts(&p); i++)
        ck_assert_msg(a->parallelism.layers_per_chunk[i] == b->parallelism.layers_per_chunk[i], "other layers: %s",
                      set_json);
    for (size_t i = 0; i < t.n_stages; i++)
        check_same(a->training.stages[i].scenario, b->training.stages[i].scenario, set_json);
}

/* Counts the proposals that both take; *n_refused becomes the number that neither takes. */
static long check_plans(const struct tsim_scenario_source *source, const struct tsim_scenario *job, long *n_refused) {
    static const struct tsim_plan_axis NONE[TSIM_N_PLAN_KEYS] = {{NULL, 0}};
    struct tsim_plan_space space;
    long n_taken = 0;
    tsim_plan_space_of(&arena, job, NONE, TSIM_PLAN_COARSE, &space);
    for (int k = 0; k < PLANS_EACH; k++) {
        struct tsim_override overrides[MOST_OVERRIDES];
        struct tsim_plan_choice choice;
        const struct tsim_scenario *plan, *read;
        int64_t at = (int64_t)(random_real(&drawn) * (double)space.n_points);
        struct tsim_diags of_reader;
        if (!tsim_plan_choice_from(space.candidates, &at, &choice))
            continue;
        const char *set_json = tsim_plan_set_json(&arena, space.candidates, &choice);
        size_t n = overrides_of(set_json, overrides);
        tsim_diags_init(&of_reader);
        bool is_taken = tsim_scenario_replan(&arena, job, &choice, &plan);
        bool is_read = tsim_scenario_load_from(&arena, source, overrides, n, &read, &of_reader) == TSIM_OK;
        ck_assert_msg(is_taken == is_read, "%s: read %d, planned %d%s", set_json, is_read, is_taken,
                      errors_of(&of_reader));
        if (is_taken)
            check_same(plan, read, set_json);
        n_taken += is_taken;
        *n_refused += !is_taken;
        tsim_diags_release(&of_reader);
    }
    return n_taken;
}

TSIM_TEST(plans) {
    long n_cases = random_cases(70), n_taken = 0, n_refused = 0;
    drawn = random_start(SEED);
    for (long i = 0; i < n_cases; i++) {
        struct tsim_scenario_source source;
        const struct tsim_scenario *job;
        char *text = random_scenario(&drawn);
        renew();
        if (tsim_scenario_open_text(&arena, "random.yaml", text, &source, &diags) == TSIM_OK &&
            tsim_scenario_load_job(&arena, &source, NULL, 0, &job, &diags) == TSIM_OK)
            n_taken += check_plans(&source, job, &n_refused);
        free(text);
    }
    printf("plans: %ld taken, %ld refused\n", n_taken, n_refused);
    ck_assert(n_taken > 2 * n_cases && n_refused > 2 * n_cases);
    renew();
}

TSIM_MAIN(NO_LIMIT_S, set_up, tear_down)
