/* The figures of a summary: each is complete, called as in the summary's JSON, and known to all who read the rows. */
#include "report/terminal/summary.h"
#include "results/outcome.h"
#include "results/store_points.h"
#include "results/store_query.h"
#include "support/check_main.h"
#include "support/example_result.h"

#include <math.h>
#include <string.h>

static struct example_result r;
static struct tsim_outcome outcome;

TSIM_TEST(figures_of_a_run) {
    example_result_init(&r);
    tsim_outcome_of(&r.prediction, &outcome);
    ck_assert_double_eq(outcome.value[TSIM_OUTCOME_FITS], 1);
    ck_assert_double_eq(outcome.value[TSIM_OUTCOME_ACCELERATORS], 8);
    ck_assert_double_eq(outcome.value[TSIM_OUTCOME_STEP_TIME], 10);
    ck_assert_double_eq(outcome.value[TSIM_OUTCOME_BUBBLE_FRAC], 0.15);
    ck_assert_double_eq(outcome.value[TSIM_OUTCOME_BUFFERS], 33e9);
    ck_assert_str_eq(outcome.bottleneck, "memory");
}

/* 65536 tokens/s at 5 kW, PUE 1.2, 0.1 USD/kWh and 8 x 3.6 USD/h: 10^12 tokens take 15258789.0625 s, so 0.008 USD/s of
 * rent are 122070.3125 USD, and 6 kW are 91552734.375 kJ = 25431.315104 kWh, 2543.1315104 USD. */
TSIM_TEST(price_of_a_trillion_tokens) {
    example_result_init(&r);
    struct tsim_scenario scenario = *r.prediction.result.scenario;
    scenario.cost.rent_usd_per_s = 0.001;
    scenario.energy.pue = 1.2;
    scenario.energy.price_usd_per_j = 0.1 / 3.6e6;
    r.prediction.result.scenario = &scenario;
    tsim_outcome_of(&r.prediction, &outcome);
    ck_assert_double_eq_tol(outcome.value[TSIM_OUTCOME_TRILLION_RENT], 122070.3125, 1e-6);
    ck_assert_double_eq_tol(outcome.value[TSIM_OUTCOME_TRILLION_ELECTRICITY], 2543.1315104, 1e-6);
    scenario.cost.rent_usd_per_s = 0;
    tsim_outcome_of(&r.prediction, &outcome);
    ck_assert(isnan(outcome.value[TSIM_OUTCOME_TRILLION_RENT]));
}

/* A metric is measured in the dimension that its figure has; rates of counts are plain numbers there. */
TSIM_TEST(metrics_are_figures) {
    static const struct {
        const char *key;
        enum tsim_dimension dimension;
        enum tsim_outcome_figure figure;
    } METRICS[] = {
#define METRIC(NAME, key, dimension, bare, most, KIND, FIGURE, AS, help) {key, dimension, TSIM_OUTCOME_##FIGURE},
#include "config/measured.def"
    };
    for (size_t i = 0; i < sizeof METRICS / sizeof METRICS[0]; i++) {
        enum tsim_dimension shown = tsim_outcome_spec(METRICS[i].figure)->unit->shown;
        ck_assert_msg(shown == METRICS[i].dimension || (shown == TSIM_COUNT && METRICS[i].dimension == TSIM_PER_S),
                      "%s", METRICS[i].key);
        ck_assert_str_eq(tsim_metric_name((enum tsim_metric)i), METRICS[i].key);
    }
}

TSIM_TEST(a_run_that_does_not_fit_has_memory_alone) {
    example_result_init_misfit(&r);
    tsim_outcome_of(&r.prediction, &outcome);
    ck_assert_double_eq(outcome.value[TSIM_OUTCOME_FITS], 0);
    ck_assert_double_eq(outcome.value[TSIM_OUTCOME_MEMORY_PEAK], 64e9);
    ck_assert_double_eq(outcome.value[TSIM_OUTCOME_PARAMETERS], 134217728);
    for (int i = 0; i < TSIM_N_OUTCOMES; i++) {
        const char *name = tsim_outcome_spec((enum tsim_outcome_figure)i)->name;
        bool is_there =
            strncmp(name, "memory.", 7) == 0 || strncmp(name, "model.", 6) == 0 || strcmp(name, "accelerators") == 0;
        ck_assert_msg(is_there || isnan(outcome.value[i]), "%s", name);
    }
    ck_assert_ptr_null(outcome.bottleneck);
}

static const char *json_text(struct tsim_json *json) {
    static char text[8192];
    FILE *out = tmpfile();
    tsim_json_write(json, out);
    rewind(out);
    text[fread(text, 1, sizeof text - 1, out)] = '\0';
    fclose(out);
    tsim_json_release(json);
    return text;
}

/* Every member that the outcome has, `tsim run --json` has, with the same value: it is searched for as text. */
TSIM_TEST(json_is_that_of_a_run) {
    static char whole[8192];
    example_result_init(&r);
    tsim_outcome_of(&r.prediction, &outcome);
    const struct tsim_logged logged = {0};
    strcpy(whole, json_text(tsim_summary_json(&r.prediction, &logged)));
    struct tsim_json *object = tsim_json_new_object();
    tsim_outcome_json(&outcome, object);
    const char *text = json_text(object);
    static const char *const SECTIONS[] = {"\"step\": {",       "\"communication_exposed\": {",
                                           "\"throughput\": {", "\"fractions\": {",
                                           "\"energy\": {",     "\"model\": {"};
    for (size_t i = 0; i < sizeof SECTIONS / sizeof SECTIONS[0]; i++) {
        const char *ours = strstr(text, SECTIONS[i]), *theirs = strstr(whole, SECTIONS[i]);
        ck_assert_msg(ours && theirs, "%s", SECTIONS[i]);
        size_t length = strcspn(ours, "}");
        ck_assert_msg(strncmp(ours, theirs, length + 1) == 0, "%.*s", (int)length, ours);
    }
    ck_assert_ptr_nonnull(strstr(text, "\"fits\": true"));
    ck_assert_ptr_nonnull(strstr(text, "\"accelerators\": 8,"));
}

TSIM_TEST(names) {
    static const struct {
        const char *name;
        enum tsim_outcome_figure figure;
    } GOOD[] = {{"throughput.mfu", TSIM_OUTCOME_MFU},
                {"mfu", TSIM_OUTCOME_MFU},
                {"step.time_s", TSIM_OUTCOME_STEP_TIME},
                {"time_s", TSIM_OUTCOME_STEP_TIME},
                {"step_time_s", TSIM_OUTCOME_STEP_TIME},
                {"days", TSIM_OUTCOME_DAYS},
                {"cost", TSIM_OUTCOME_RENT},
                {"peak_bytes", TSIM_OUTCOME_MEMORY_PEAK},
                {"memory.fits", TSIM_OUTCOME_FITS},
                {"exposed_data_s", TSIM_OUTCOME_EXPOSED_DATA},
                {"gpus", TSIM_OUTCOME_ACCELERATORS}};
    enum tsim_outcome_figure figure;
    const char *near;
    for (size_t i = 0; i < sizeof GOOD / sizeof GOOD[0]; i++) {
        ck_assert_msg(tsim_outcome_find(GOOD[i].name, &figure, &near), "%s", GOOD[i].name);
        ck_assert_msg(figure == GOOD[i].figure, "%s", GOOD[i].name);
    }
    ck_assert(!tsim_outcome_find("tokens_per_z", &figure, &near));
    ck_assert_str_eq(near, "tokens_per_s");
    ck_assert(!tsim_outcome_find("elephants", &figure, &near));
    ck_assert_ptr_null(near);
}

TSIM_TEST(names_of_terms) {
    static const struct {
        const char *name;
        enum tsim_outcome_figure figure;
    } GOOD[] = {{"step.bubble_s", TSIM_OUTCOME_BUBBLE},  {"bubble", TSIM_OUTCOME_BUBBLE},
                {"communication", TSIM_OUTCOME_EXPOSED}, {"mfu", TSIM_OUTCOME_MFU},
                {"steps", TSIM_OUTCOME_STEPS},           {"time_s", TSIM_OUTCOME_STEP_TIME},
                {"ownership", TSIM_OUTCOME_OWNED_RUN}};
    enum tsim_outcome_figure figure;
    for (size_t i = 0; i < sizeof GOOD / sizeof GOOD[0]; i++) {
        ck_assert_msg(tsim_outcome_find_term(GOOD[i].name, &figure), "%s", GOOD[i].name);
        ck_assert_msg(figure == GOOD[i].figure, "%s", GOOD[i].name);
    }
    ck_assert(!tsim_outcome_find_term("step.compue_s", &figure));
    ck_assert(!tsim_outcome_find_term("per_trillion_tokens.rent_usd", &figure));
    ck_assert(!tsim_outcome_find_term("", &figure));
    ck_assert_str_eq(tsim_outcome_near_term("step.compue_s"), "step.compute_s");
    ck_assert_str_eq(tsim_outcome_near_term("memroy"), "memory");
    ck_assert_str_eq(tsim_outcome_near_term("mfuu"), "mfu");
    ck_assert_ptr_null(tsim_outcome_near_term("supercalifragilistic"));
}

/* ---- each row is known to all who loop over the rows ---- */

/* A run that has everything that a run can have, but for a learning rate, which is of a convolutional network alone. */
static void example_of_everything(void) {
    struct tsim_result *result = &r.prediction.result;
    example_result_init(&r);
    result->step.mtp_parameters = 1e9;
    result->step.trained_parameters = 1e6;
    result->step.padding_frac = 0.25;
    result->step.variation.has = result->step.variation.draws.has = result->step.input.has = true;
    result->step.input.bound = "workers";
    result->evaluation.has = result->early.has = true;
    result->post_training.has = result->post_training.generation.has = true;
    result->server.has = result->search.has = true;
    r.example.scenario.generation.ahead = 1;
    result->post_training.steps = result->post_training.time_s = result->post_training.energy_j = 1;
    result->campaign.samples = 4e9;
    result->campaign.has_failures = result->campaign.has_local_tier = result->campaign.is_spot = true;
    result->campaign.goodput = result->campaign.failures = result->campaign.days_p10 = result->campaign.days_p90 = 1;
    result->campaign.skipped_steps = result->campaign.embodied_co2_kg = result->campaign.mean_days = 1;
    result->campaign.own = (struct tsim_ownership){.has = true};
    r.example.scenario.cost.rent_usd_per_s = 0.001;
    r.example.scenario.data.samples = 1e9;
    r.prediction.uncertainty = (struct tsim_uncertainty){.basis = "runs of a test", .has_run = true, .n_rounds = 1};
}

TSIM_TEST(every_figure_is_in_the_summary) {
    const struct tsim_logged logged = {0};
    example_of_everything();
    tsim_outcome_of(&r.prediction, &outcome);
    struct tsim_json *summary = tsim_summary_json(&r.prediction, &logged);
    struct tsim_json *point = tsim_json_new_object();
    tsim_outcome_json(&outcome, point);
    for (int i = 0; i < TSIM_N_OUTCOMES; i++) {
        const struct tsim_outcome_spec *spec = tsim_outcome_spec((enum tsim_outcome_figure)i);
        if (i == TSIM_OUTCOME_LEARNING_RATE)
            continue;
        ck_assert_msg(!isnan(outcome.value[i]), "%s", spec->name);
        if (spec->column->is_in_runs)
            ck_assert_msg(tsim_json_figure(summary, spec->name) == outcome.value[i], "%s", spec->name);
        if (spec->column->name)
            ck_assert_msg(tsim_json_figure(point, spec->name) == outcome.value[i], "%s of a point", spec->name);
    }
    tsim_json_release(summary);
    tsim_json_release(point);
}

/* Returns the value of `column` in the table's only row. */
static double stored(struct tsim_arena *arena, struct tsim_store *store, const char *table, const char *column,
                     struct tsim_diags *diags) {
    struct tsim_query *query;
    bool is_there;
    const char *sql = tsim_arena_printf(arena, "SELECT %s FROM %s", column, table);
    ck_assert_msg(tsim_query_open(arena, store, sql, &query, diags) == TSIM_OK, "%s", sql);
    ck_assert_int_eq(tsim_query_next(query, &is_there, diags), TSIM_OK);
    ck_assert(is_there);
    double value = tsim_query_real(query, 0);
    tsim_query_close(query);
    return value;
}

TSIM_TEST(every_figure_with_a_column_is_in_the_database) {
    const struct tsim_sweep_row sweep = {"key", "example", "{}", "1.0.0", "2026-01-02T03:04:05Z", 1};
    struct tsim_point point = {.status = TSIM_POINT_OK, .key = "key"};
    struct tsim_point_writer *writer;
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_store *store;
    int64_t id;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    example_of_everything();
    r.example.scenario.draft = example_draft(&arena, &diags);
    tsim_outcome_of(&r.prediction, &point.outcome);
    ck_assert_int_eq(tsim_store_open(&arena, "", TSIM_STORE_WRITE, &store, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_store_add_run(store, &r.prediction, sweep.started_at, &id, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_store_add_sweep(store, &sweep, &id, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_point_writer_open(&arena, store, id, &writer, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_point_writer_add(writer, &point, "{}", &diags), TSIM_OK);
    ck_assert_int_eq(tsim_point_writer_commit(writer, &diags), TSIM_OK);
    tsim_point_writer_close(writer);
    for (int i = 0; i < TSIM_N_OUTCOMES; i++) {
        const struct tsim_outcome_column *column = tsim_outcome_spec((enum tsim_outcome_figure)i)->column;
        if (!column->name)
            continue;
        double value = point.outcome.value[i];
        ck_assert_msg(stored(&arena, store, "points", column->name, &diags) == value, "%s of points", column->name);
        if (column->is_in_runs)
            ck_assert_msg(stored(&arena, store, "runs", column->name, &diags) == value, "%s of runs", column->name);
    }
    tsim_store_close(store);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
}

/* A figure is found by its name, its column and its words: no two figures share one. */
TSIM_TEST(every_figure_is_found) {
    enum tsim_outcome_figure figure, columns[TSIM_N_OUTCOME_COLUMNS];
    const char *near;
    for (int i = 0; i < TSIM_N_OUTCOMES; i++) {
        const struct tsim_outcome_spec *spec = tsim_outcome_spec((enum tsim_outcome_figure)i);
        if (spec->column->is_in_runs)
            ck_assert(tsim_outcome_find_term(spec->name, &figure) && (int)figure == i);
        for (size_t k = 0; spec->words[k]; k++)
            ck_assert_msg(tsim_outcome_find_term(spec->words[k], &figure) && (int)figure == i, "%s", spec->words[k]);
        if (!spec->column->name) { /* a point has none, and the row says why */
            ck_assert(!tsim_outcome_find(spec->name, &figure, &near));
            ck_assert_msg(tsim_outcome_why_not_of_points(spec->name) != NULL, "%s", spec->name);
            continue;
        }
        ck_assert_ptr_null(tsim_outcome_why_not_of_points(spec->name));
        ck_assert(tsim_outcome_find(spec->name, &figure, &near) && (int)figure == i);
        ck_assert(tsim_outcome_find(spec->column->name, &figure, &near) && (int)figure == i);
    }
    ck_assert_ptr_null(tsim_outcome_why_not_of_points("nothing"));
    for (int i = 0; i < TSIM_N_OUTCOME_COLUMNS; i++) /* a place that two take leaves another empty */
        columns[i] = TSIM_N_OUTCOMES;
    tsim_outcome_columns(columns);
    for (int i = 0; i < TSIM_N_OUTCOME_COLUMNS; i++)
        ck_assert_int_lt(columns[i], TSIM_N_OUTCOMES);
}

TSIM_TEST(every_figure_is_in_the_reference) {
    static char text[65536];
    FILE *out = fmemopen(text, sizeof text, "w");
    tsim_outcome_reference(out);
    fclose(out);
    for (int i = 0; i < TSIM_N_OUTCOMES; i++) {
        const struct tsim_outcome_spec *spec = tsim_outcome_spec((enum tsim_outcome_figure)i);
        char row[128];
        snprintf(row, sizeof row, "\n| `%s` | %s |", spec->name, spec->unit->word);
        ck_assert_msg(strstr(text, row) != NULL, "%s", row);
        ck_assert_msg(spec->meaning[0] != '\0', "%s", spec->name);
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
