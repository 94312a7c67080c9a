/* Laws of an explanation over random plans: what its tables have recorded adds up to the step, and every formula tree
 * follows from its parts. Prints its seed. */
#include "report/terminal/explain_sections.h"
#include "report/terminal/explain_term.h"
#include "run/run.h"
#include "support/check_main.h"
#include "support/random_plan.h"
#include "support/term_rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_CASES = 120 };
#define SEED 20261122u

/* Kernels and collectives take whole picoseconds each on the engine, and what the cost model says in the tables. */
#define TICKS_FRAC 1e-7

struct totals {
    double path_s, operators_s, exposed_s, activations_bytes;
};

/* Sums the time columns of the tables, by the table's and the row's name. */
static void take(void *context, const struct tsim_figures *figures) {
    struct totals *totals = context;
    for (size_t i = 0; i < figures->n_cells; i += figures->n_columns)
        for (size_t c = 0; c < figures->n_columns; c++) {
            const char *key = figures->columns[c].key;
            double number = figures->cells[i + c].number;
            if (!key || isnan(number))
                continue;
            if (strcmp(figures->name, "critical_path") == 0 && strcmp(key, "time_s") == 0) {
                totals->path_s += number;
            } else if (strcmp(figures->name, "operators") == 0 && strcmp(key, "step_s") == 0) {
                totals->operators_s += number;
            } else if (strcmp(figures->name, "overlaps") == 0 && strcmp(key, "exposed_s") == 0) {
                totals->exposed_s += number;
            } else if (strcmp(figures->name, "activations") == 0 && strcmp(key, "stage_bytes") == 0) {
                totals->activations_bytes += number;
            }
        }
}

static void check_tables(struct tsim_arena *arena, const struct tsim_explanation *explanation) {
    const struct tsim_step_terms *t = &explanation->result->step.terms;
    struct totals totals = {0};
    tsim_explain_path.tables(arena, explanation, take, &totals);
    tsim_explain_operators.tables(arena, explanation, take, &totals);
    tsim_explain_overlap.tables(arena, explanation, take, &totals);
    tsim_explain_memory.tables(arena, explanation, take, &totals);
    ck_assert_double_eq_tol(totals.path_s, t->time_s, 1e-9 * t->time_s);
    ck_assert_double_eq_tol(totals.operators_s, t->time_s, TICKS_FRAC * t->time_s);
    double activations_bytes = explanation->result->step.memory.activations_bytes;
    ck_assert_double_eq_tol(totals.activations_bytes, activations_bytes, 1e-9 * activations_bytes);
    ck_assert_double_eq_tol(totals.exposed_s, t->communication_exposed_s, TICKS_FRAC * t->time_s);
}

static void check_trees(const struct tsim_explanation *explanation) {
    const struct tsim_step_result *step = &explanation->result->step;
    const struct {
        const char *name;
        double figure;
    } TREES[] = {{"step.time_s", step->terms.time_s},
                 {"step.compute_s", step->terms.compute_s},
                 {"step.recompute_s", step->terms.recompute_s},
                 {"step.communication_exposed_s", step->terms.communication_exposed_s},
                 {"memory.peak_bytes", step->memory.peak_bytes},
                 {"throughput.mfu", step->throughput.mfu},
                 {"throughput.hfu", step->throughput.hfu},
                 {"energy.mean_power_w", step->mean_power_w}};
    for (size_t i = 0; i < sizeof TREES / sizeof TREES[0]; i++) {
        const struct tsim_term *term = tsim_term_of(explanation->prediction, TREES[i].name);
        expect_term_rules(term);
        double rounded = i == 0 ? TICKS_FRAC : 1e-9; /* the step is the sum of its terms */
        TSIM_ALWAYS(fabs(term->value - TREES[i].figure) <= rounded * fabs(TREES[i].figure),
                    "%s is %.17g, recorded %.17g", TREES[i].name, TREES[i].figure, term->value);
    }
}

TSIM_TEST(random_plans) {
    struct random_source random = random_start(SEED);
    for (int i = 0; i < N_CASES; i++) {
        struct example e;
        struct tsim_arena arena;
        struct tsim_diags diags;
        struct tsim_prediction prediction = {0};
        struct tsim_explanation explanation;
        struct tsim_term_recorder recorder;
        struct tsim_step_sink sink;
        bool listens = i % 3 > 0; /* else the step is played once more */
        const struct tsim_run_options options = {
            .ignore_memory = true, .sink = listens ? &sink : NULL, .recorder = &recorder};
        tsim_arena_init(&arena);
        tsim_term_recorder_init(&recorder, &arena);
        tsim_diags_init(&diags);
        random_plan(&random, &e);
        e.scenario.simulation.fold = i % 4 > 0;
        e.scenario.training.offload.activations_frac = i % 8 == 1 ? 0.5 : 0;
        const struct tsim_timeline *of_first = tsim_timeline_listen(&arena, &e.scenario, 0, &sink);
        ck_assert_int_eq(tsim_train_run(&arena, &e.scenario, &options, &prediction.result, &diags), TSIM_OK);
        ck_assert_int_eq(tsim_explanation_build(&arena, &prediction, listens ? of_first : NULL, TSIM_EXPLAIN_ALL,
                                                &explanation, &diags),
                         TSIM_OK);
        check_tables(&arena, &explanation);
        check_trees(&explanation);
        tsim_diags_release(&diags);
        tsim_arena_release(&arena);
    }
}

TSIM_MAIN(60, NULL, NULL)
