/* Advice is a promise: each line, set as it says, is a valid scenario whose step takes the time that it says; and the run
 * as it is logged is given the same lines. So is what would fit in memory: set as it says, it takes the memory that it
 * says. It is asked of every sixty-fourth shipped scenario and of random ones (support/random_scenario.h); TSIM_CASES says
 * how many of these are drawn (100) and takes every shipped one, TSIM_SEED from which seed. */
#include "run/run.h"
#include "study/search/advice.h"
#include "support/arena_rig.h"
#include "support/random_scenario.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#define SEED 4
enum { MAX_SETTINGS = 4 };

/* Returns whether a second is enough to run the scenario. */
static bool is_small(const struct tsim_scenario *sc) {
    double passes = (double)sc->n_microbatches * (double)(sc->parallelism.pipeline * sc->parallelism.virtual_pipeline);
    return sc->simulation.fold ? passes <= 4096 : sc->n_accelerators <= 64 && passes <= 64;
}

/* Reads "A=1 --set B=2" from `text`, which it cuts into pieces. */
static size_t settings_of(char *text, struct tsim_override *settings) {
    static const char MORE[] = " --set ";
    size_t n = 0;
    for (char *at = text, *next; at; at = next) {
        ck_assert_uint_lt(n, MAX_SETTINGS);
        next = strstr(at, MORE);
        if (next) {
            *next = '\0';
            next += strlen(MORE);
        }
        char *value = strchr(at, '=');
        *value++ = '\0';
        if (*value == '\'') { /* as a shell takes it off */
            value++;
            value[strlen(value) - 1] = '\0';
        }
        settings[n++] = (struct tsim_override){at, value};
    }
    return n;
}

static void check_kept(const struct tsim_scenario_source *source, const char *advice) {
    static const struct tsim_run_options STEADY = {.is_steady = true};
    struct tsim_override settings[MAX_SETTINGS];
    const struct tsim_scenario *changed;
    struct tsim_result result;
    char time[40];
    const char *said = strstr(advice, ": step ");
    size_t n = settings_of(tsim_arena_strndup(&arena, advice, (size_t)(said - advice)), settings);
    bool is_valid = tsim_scenario_load_from(&arena, source, settings, n, &changed, &diags) == TSIM_OK &&
                    tsim_train_run(&arena, changed, &STEADY, &result, &diags) == TSIM_OK && result.step.simulated;
    ck_assert_msg(is_valid, "%s: cannot be set: %s", source->file, advice);
    said += strlen(": step ");
    tsim_quantity_human(tsim_steady_time_s(&result.step), TSIM_TIME_S, time, sizeof time);
    ck_assert_msg(strncmp(said, time, strlen(time)) == 0 && said[strlen(time)] == ',', "%s: %s; when set, %s",
                  source->file, advice, time);
}

/* The scenario as it is logged, with every default filled in, is given the same advice. */
static void check_logged(const struct tsim_scenario *scenario, const struct tsim_prediction *prediction) {
    static const struct tsim_run_options STEADY = {.is_steady = true};
    struct tsim_scenario_source source;
    const struct tsim_scenario *logged;
    struct tsim_prediction again = {0};
    ck_assert_int_eq(tsim_scenario_open_text(&arena, "run 1", tsim_scenario_json(&arena, scenario), &source, &diags),
                     TSIM_OK);
    ck_assert_int_eq(tsim_scenario_load_from(&arena, &source, NULL, 0, &logged, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_train_run(&arena, logged, &STEADY, &again.result, &diags), TSIM_OK);
    tsim_advise(&arena, logged, &again);
    ck_assert_msg(again.n_advice == prediction->n_advice, "%s: %d lines of advice, %d from the log", scenario->name,
                  (int)prediction->n_advice, (int)again.n_advice);
    for (int32_t i = 0; i < again.n_advice; i++)
        ck_assert_msg(strcmp(again.advice[i], prediction->advice[i]) == 0, "%s: %s; from the log %s", scenario->name,
                      prediction->advice[i], again.advice[i]);
}

/* Counts the lines of advice; -1: the scenario is refused, too large, or there is no memory for it. */
static int check_all(const struct tsim_scenario_source *source) {
    static const struct tsim_run_options STEADY = {.is_steady = true};
    const struct tsim_scenario *scenario;
    struct tsim_prediction prediction = {0};
    if (tsim_scenario_load_from(&arena, source, NULL, 0, &scenario, &diags) != TSIM_OK || !is_small(scenario) ||
        tsim_train_run(&arena, scenario, &STEADY, &prediction.result, &diags) != TSIM_OK ||
        !prediction.result.step.simulated)
        return -1;
    tsim_advise(&arena, scenario, &prediction);
    for (int32_t i = 0; i < prediction.n_advice; i++)
        check_kept(source, prediction.advice[i]);
    check_logged(scenario, &prediction);
    return prediction.n_advice;
}

static void renew(void) {
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    set_up();
}

TSIM_TEST(shipped) {
    glob_t files = {0};
    int n_lines = 0;
    ck_assert_int_eq(glob("scenarios/*.yaml", 0, NULL, &files), 0);
    ck_assert_int_eq(glob("scenarios/*/*.yaml", GLOB_APPEND, NULL, &files), 0);
    size_t every = getenv("TSIM_CASES") ? 1 : 64;
    for (size_t i = 0; i < files.gl_pathc; i += every) {
        struct tsim_scenario_source source;
        renew();
        if (tsim_scenario_open(&arena, files.gl_pathv[i], &source, &diags) == TSIM_OK) {
            int n = check_all(&source);
            n_lines += n > 0 ? n : 0;
        }
    }
    globfree(&files);
    printf("%d lines of advice to shipped scenarios\n", n_lines);
    ck_assert_int_gt(n_lines * (int)every, 500);
    renew();
}

TSIM_TEST(random_ones) {
    struct random_source random = random_start(SEED);
    long n_cases = random_cases(12);
    int n_lines = 0;
    /* Few random scenarios are valid and small. If none of the first cases gets advice, more are drawn. */
    for (long i = 0; i < n_cases || (n_lines == 0 && i < 30 * n_cases); i++) {
        struct tsim_scenario_source source;
        char *text = random_scenario(&random);
        renew();
        if (tsim_scenario_open_text(&arena, "random.yaml", text, &source, &diags) == TSIM_OK) {
            int n = check_all(&source);
            n_lines += n > 0 ? n : 0;
        }
        free(text);
    }
    printf("%d lines of advice to random scenarios\n", n_lines);
    ck_assert_int_gt(n_lines, 0);
    renew();
}

/* Counts the changes that make it fit on accelerators of so much memory; each is set, and its memory compared. */
static int check_fits(const struct tsim_scenario_source *source, const char *memory) {
    static const struct tsim_run_options PLAIN = {.ignore_memory = false};
    struct tsim_override settings[1 + MAX_SETTINGS] = {{"cluster.node.accelerator.memory", memory}};
    const struct tsim_scenario *scenario, *changed;
    struct tsim_result result, bound;
    if (tsim_scenario_load_from(&arena, source, settings, 1, &scenario, &diags) != TSIM_OK)
        return 0;
    tsim_train_bound(&arena, scenario, NULL, TSIM_LEAST_PASSES, &bound);
    if (bound.step.fits || tsim_train_run(&arena, scenario, &PLAIN, &result, &diags) != TSIM_OK)
        return 0;
    for (int32_t i = 0; i < result.step.n_fit_changes; i++) {
        const char *setting = result.step.fit_changes[i].setting;
        size_t n = 1 + settings_of(tsim_arena_strdup(&arena, setting), settings + 1);
        ck_assert_msg(tsim_scenario_load_from(&arena, source, settings, n, &changed, &diags) == TSIM_OK,
                      "%s: cannot be set: %s", source->file, setting);
        tsim_train_bound(&arena, changed, NULL, TSIM_LEAST_PASSES, &bound);
        ck_assert_msg(bound.step.fits && bound.step.memory.peak_bytes == result.step.fit_changes[i].peak_bytes,
                      "%s: %s: said to take %.6g bytes, takes %.6g", source->file, setting,
                      result.step.fit_changes[i].peak_bytes, bound.step.memory.peak_bytes);
    }
    return result.step.n_fit_changes;
}

/* Every fourth shipped scenario is asked for what would make it fit; with TSIM_CASES all are. */
TSIM_TEST(what_fits) {
    const size_t every = getenv("TSIM_CASES") ? 1 : 4;
    static const char *const MEMORIES[] = {"12 GB", "24 GB", "40 GB"};
    glob_t files = {0};
    int n_changes = 0;
    ck_assert_int_eq(glob("scenarios/*.yaml", 0, NULL, &files), 0);
    ck_assert_int_eq(glob("scenarios/*/*.yaml", GLOB_APPEND, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i += every) {
        struct tsim_scenario_source source;
        renew();
        if (tsim_scenario_open(&arena, files.gl_pathv[i], &source, &diags) == TSIM_OK)
            n_changes += check_fits(&source, MEMORIES[i / every % 3]);
    }
    globfree(&files);
    printf("%d changes that make shipped scenarios fit\n", n_changes);
    ck_assert_int_gt(n_changes, 200 / (int)every);
    renew();
}

TSIM_MAIN(NO_LIMIT_S, set_up, tear_down)
