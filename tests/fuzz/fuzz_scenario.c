/* YAML to a scenario, and, where that is small, a run of it with everything that is printed about it; or to a replay of
 * traces, which are not read. Lines "#set PATH=VALUE" are what --set would say. */
#include "config/replay_spec.h"
#include "config/scenario.h"
#include "config/text/document.h"
#include "fuzz/fuzz.h"
#include "fuzz/yaml_lines.h"
#include "report/terminal/summary.h"
#include "run/run.h"
#include "study/curves/section.h"
#include "study/search/advice.h"

#include <math.h>

enum {
    MOST_SETTINGS = 4,
    MOST_ADVISED_EVENTS = 5000, /* of a run: advice takes some twenty more */
};

/* Returns whether a tenth of a second is enough to run the scenario. */
static bool is_small(const struct tsim_scenario *sc) {
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    double passes = (double)sc->n_microbatches * (double)p->pipeline * (double)p->virtual_pipeline;
    double ranks = (double)p->tensor * (double)p->pipeline * (double)p->context * (double)p->data;
    bool is_unfolded = !sc->simulation.fold || sc->simulation.network == TSIM_NETWORK_STEPS ||
                       sc->cluster.n_degraded > 0 || sc->cluster.fabric;
    return passes <= 512 && (!is_unfolded || ranks * passes <= 1024) && ranks <= 1024 && sc->model->layers <= 128 &&
           sc->simulation.steps <= 4 && !sc->data.has && !sc->reliability.has;
}

static void check_terms(const struct tsim_result *result) {
    const double terms[] = {result->step.terms.compute_s,    result->step.terms.recompute_s,
                            result->step.terms.bubble_s,     result->step.terms.communication_exposed_s,
                            result->step.terms.data_stall_s, result->step.terms.optimizer_s};
    double sum = 0;
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; i++)
        sum += terms[i];
    TSIM_ASSERT(isfinite(result->step.terms.time_s) && result->step.terms.time_s > 0);
    TSIM_ASSERT(fabs(sum - result->step.terms.time_s) <= 1e-6 * result->step.terms.time_s);
    TSIM_ASSERT(tsim_memory_fits(&result->step.memory));
}

static void run(struct tsim_arena *arena, const struct tsim_scenario *scenario, struct tsim_diags *diags) {
    const struct tsim_run_options options = {.ignore_memory = false};
    struct tsim_prediction prediction = {0};
    static FILE *nowhere;
    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    if (!is_small(scenario) || tsim_train_run(arena, scenario, &options, &prediction.result, diags) != TSIM_OK)
        return;
    if (prediction.result.step.simulated)
        check_terms(&prediction.result);
    if (prediction.result.events <= MOST_ADVISED_EVENTS)
        tsim_advise(arena, scenario, &prediction);
    struct tsim_style style = tsim_style_of(nowhere);
    struct tsim_logged logged = {0};
    tsim_summary_print(nowhere, &style, &prediction, &logged);
    tsim_json_release(tsim_summary_json(&prediction, &logged));
}

/* Returns how many settings the text's lines "#set PATH=VALUE" make. */
static size_t settings_of(struct tsim_arena *arena, const char *text, struct tsim_override *settings) {
    size_t n = 0;
    for (const char *at = strstr(text, "#set "); at && n < MOST_SETTINGS; at = strstr(at, "#set ")) {
        at += strlen("#set ");
        const char *equals = strchr(at, '=');
        size_t length = strcspn(at, "\n");
        if (!equals || equals >= at + length)
            continue;
        settings[n].path = tsim_arena_strndup(arena, at, (size_t)(equals - at));
        settings[n++].value = tsim_arena_strndup(arena, equals + 1, (size_t)(at + length - equals - 1));
    }
    return n;
}

/* A scenario with every default filled in, as `check --json` prints it, is the same scenario. */
static void check_again(struct tsim_arena *arena, const struct tsim_scenario *scenario) {
    struct tsim_diags diags;
    struct tsim_scenario_source source;
    const struct tsim_scenario *again = NULL;
    const char *text = tsim_scenario_json(arena, scenario);
    tsim_diags_init(&diags);
    if (tsim_scenario_open_text(arena, "again.json", text, &source, &diags) != TSIM_OK ||
        tsim_scenario_load_from(arena, &source, NULL, 0, &again, &diags) != TSIM_OK)
        tsim_diags_print(&diags, stderr);
    TSIM_ASSERT(again && strcmp(text, tsim_scenario_json(arena, again)) == 0);
    tsim_diags_release(&diags);
}

static void read_scenario(struct tsim_arena *arena, const char *text, struct tsim_diags *diags) {
    struct tsim_scenario_source source;
    const struct tsim_scenario *scenario;
    struct tsim_override settings[MOST_SETTINGS] = {{0}};
    size_t n = settings_of(arena, text, settings);
    if (tsim_scenario_open_text(arena, "fuzz.yaml", text, &source, diags) != TSIM_OK ||
        tsim_scenario_load_from(arena, &source, settings, n, &scenario, diags) != TSIM_OK)
        return;
    check_again(arena, scenario);
    tsim_section_check(arena, &source, settings, n, true, diags);
    run(arena, scenario, diags);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    return fuzz_mutate_lines(data, size, max_size, seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tsim_arena arena;
    struct tsim_diags diags;
    const struct tsim_value *root;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    const char *text = fuzz_text(&arena, data, size);
    if (!text) {
        tsim_document_parse(&arena, "fuzz.yaml", (const char *)data, size, &root, &diags);
    } else if (strstr(text, "tsim/replay")) {
        const struct tsim_replay_spec *spec;
        tsim_replay_load_text(&arena, "fuzz.yaml", text, NULL, 0, &spec, &diags);
    } else {
        read_scenario(&arena, text, &diags);
    }
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    return 0;
}
