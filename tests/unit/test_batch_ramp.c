/* Tests batch_ramp.h and stages.h: a batch that grows, against a log of BLOOM's run and against steps of each size
 * simulated by themselves; stages of a curriculum against runs of each. */
#include "config/plan_choice.h"
#include "run/batch_ramp.h"
#include "run/stages.h"
#include "support/training_rig.h"

#include <math.h>

static struct tsim_result run(const char *id, const struct tsim_override *overrides, size_t n) {
    return train(load_shipped(id, overrides, n));
}

/* The log says "iteration 12695 | consumed samples: 9841584 | global batch size: 2048", a week after the launch
 * (bigscience tr11-176B-ml, chronicles of 18 March 2022). */
TSIM_TEST(blooms_log_is_met) {
    struct tsim_early_steps ramp;
    ck_assert(tsim_batch_ramp_count(load_shipped("bloom-176b-whole-run", NULL, 0), &ramp));
    ck_assert_double_eq(ramp.samples + (12695 - ramp.steps) * 2048, 9841584);
    struct tsim_result result = run("bloom-176b-whole-run", NULL, 0);
    ck_assert_double_eq(result.early.steps, ramp.steps);
    ck_assert_double_eq_tol(result.early.time_s / 86400, 7, 0.1 * 7);
}

/* The batch grows from 16 by 8 to 64: six sizes, each for 800 samples: 50, 34 (816 at 24, from 800 on), ... */
TSIM_TEST(the_time_is_that_of_every_size) {
    const struct tsim_override plain[] = {{"cluster", "{node: dgx-h100, nodes: 8, fabric: ib-ndr}"},
                                          {"parallelism", "{tensor: 8, pipeline: 4, zero: 1}"},
                                          {"training", "{sequence_length: 4096, global_batch_size: 64, steps: 2000}"},
                                          {"training.batch_ramp", "{from: 16, increment: 8, samples: 4800}"}};
    struct tsim_result ramped = run("llama70b", plain, 4), whole = run("llama70b", plain, 3);
    double samples = 0, steps = 0, time_s = 0, energy_j = 0;
    for (int i = 0; i < 6; i++) {
        int batch = 16 + 8 * i;
        const struct tsim_override sized[] = {
            plain[0], plain[1], plain[2], {"training.global_batch_size", tsim_arena_printf(&arena, "%d", batch)}};
        struct tsim_result size = run("llama70b", sized, 4);
        for (; samples < 800 * (i + 1); samples += batch) {
            steps += 1;
            time_s += size.step.terms.time_s;
            energy_j += size.step.energy_j;
        }
    }
    ck_assert_double_eq(ramped.early.steps, steps);
    ck_assert_double_eq(ramped.early.samples, samples);
    ck_assert_double_eq_tol(ramped.early.time_s / time_s, 1, 2e-3);
    ck_assert_double_eq_tol(ramped.early.energy_j / energy_j, 1, 2e-3);
    /* The run: 2,000 steps, of which these are the first. */
    const struct tsim_campaign *c = &ramped.campaign;
    ck_assert_double_eq(c->steps, 2000);
    ck_assert_double_eq_tol(c->days * 86400, ramped.early.time_s + (2000 - steps) * ramped.step.terms.time_s, 1e-6);
    ck_assert_double_eq(c->samples, samples + (2000 - steps) * 64);
    ck_assert_double_eq(ramped.step.terms.time_s, whole.step.terms.time_s);
    ck_assert_double_lt(c->days, whole.campaign.days);
}

/* A run by samples has as many as without a ramp, in more steps and more time. */
TSIM_TEST(a_run_of_samples_takes_longer) {
    const struct tsim_override ramp = {"training.batch_ramp", "{from: 256, increment: 32, samples: 10000000}"};
    struct tsim_result with = run("llama70b", &ramp, 1), without = run("llama70b", NULL, 0);
    ck_assert_double_gt(with.campaign.steps, without.campaign.steps);
    ck_assert_double_gt(with.campaign.days, without.campaign.days);
    ck_assert_double_eq_tol(with.campaign.samples, without.campaign.samples, 1024);
}

static struct tsim_result small(const char *plan, const char *training) {
    return train(
        load_text(tsim_arena_printf(&arena,
                                    "schema: tsim/v1\nname: small\nmodel: llama3.2-1b\ncluster: {node: dgx-h100}\n"
                                    "parallelism: {%s}\ntraining: {%s}\n",
                                    plan, training)));
}

/* 10 M tokens of 1,024 in batches of 16, then 1,000 samples of 4,096 on two context ranks in batches of 8: 611 and 125
 * steps, whose times are those of runs of their own. The run has 100 M tokens, of which batches of 8 x 4,096 take the
 * rest. */
TSIM_TEST(stages_are_runs_of_their_own) {
    enum { STEPS = 611, LATER = 125 };
    struct tsim_result all = small(
                           "data: auto",
                           "sequence_length: 4096, global_batch_size: 8, tokens: 100 M, stages: [{sequence_length: "
                           "1024, global_batch_size: 16, tokens: 10 M}, {context: 2, samples: 1000}]"),
                       of[] = {small("data: auto", "sequence_length: 1024, global_batch_size: 16"),
                               small("context: 2", "sequence_length: 4096, global_batch_size: 8")};
    double time_s = STEPS * of[0].step.terms.time_s + LATER * of[1].step.terms.time_s;
    double energy_j = STEPS * of[0].step.energy_j + LATER * of[1].step.energy_j;
    double rest = ceil((100e6 - STEPS * 16 * 1024.0 - LATER * 8 * 4096.0) / (8 * 4096.0));
    ck_assert_double_eq(all.stages[0].steps, STEPS);
    ck_assert_double_eq(all.stages[1].steps, LATER);
    ck_assert_double_eq(all.early.steps, STEPS + LATER);
    ck_assert_double_eq(all.early.samples, STEPS * 4 + LATER * 8); /* as long as the last ones */
    ck_assert_double_eq_tol(all.early.time_s / time_s, 1, 1e-9);
    ck_assert_double_eq_tol(all.early.energy_j / energy_j, 1, 1e-9);
    ck_assert_double_eq(all.campaign.steps, STEPS + LATER + rest);
    ck_assert_double_eq_tol(all.campaign.days * 86400, time_s + rest * all.step.terms.time_s, 1e-6);
}

/* A stage keeps the rules of a scenario, and its mistakes are shown at its values. */
TSIM_TEST(stages_are_checked) {
    static const struct {
        const char *stages, *field;
    } BAD[] = {{"{global_batch_size: 12, steps: 10}", "training.global_batch_size"},
               {"{sequence_length: 1024}", "training.stages"},
               {"{sequence_length: 1024, steps: 1, tokens: 1 M}", "training.stages"},
               {"{context: 3, steps: 1}", "training.sequence_length"}};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        size_t n = diags.n_items;
        ck_assert_ptr_null(
            try_text(tsim_arena_printf(&arena,
                                       "schema: tsim/v1\nname: small\nmodel: llama3.2-1b\ncluster: {node: dgx-h100}\n"
                                       "training: {global_batch_size: 8, steps: 10,\n  stages: [%s]}\n",
                                       BAD[i].stages)));
        ck_assert_str_eq(diags.items[n].field, BAD[i].field);
        ck_assert_int_eq(diags.items[n].at.line, i == 3 ? 5 : 6);
    }
    diags.n_errors = diags.n_items = 0;
}

/* A plan is of the stages as well: found for a job, it is what a scenario with that plan is; one that a stage cannot
 * have is none. */
TSIM_TEST(stages_have_the_plan) {
    static const char *const TEXT =
        "schema: tsim/v1\nname: small\nmodel: llama3.2-1b\ncluster: {node: dgx-h100}\nparallelism: {tensor: 2}\n"
        "training: {global_batch_size: 16, tokens: 1 G, stages: [{sequence_length: 1024, global_batch_size: %d, "
        "tokens: 10 M}]}\n";
    struct tsim_plan_choice plan = {.value = {[TSIM_PLAN_TENSOR] = 2,
                                              [TSIM_PLAN_PIPELINE] = 1,
                                              [TSIM_PLAN_VIRTUAL] = 1,
                                              [TSIM_PLAN_CONTEXT] = 1,
                                              [TSIM_PLAN_EXPERT] = 1,
                                              [TSIM_PLAN_MICRO_BATCH] = 1,
                                              [TSIM_PLAN_SCHEDULE] = TSIM_SCHEDULE_1F1B}};
    const struct tsim_scenario *read = load_text(tsim_arena_printf(&arena, TEXT, 8)), *planned;
    plan.value[TSIM_PLAN_ZERO] = read->parallelism.zero;
    plan.value[TSIM_PLAN_SEQUENCE] = read->parallelism.sequence;
    ck_assert(tsim_scenario_replan(&arena, read, &plan, &planned));
    struct tsim_result by_file = train(read), by_plan = train(planned);
    ck_assert_double_gt(by_file.early.time_s, 0);
    SAME(by_plan.early.time_s, by_file.early.time_s);
    SAME(by_plan.campaign.days, by_file.campaign.days);
    plan.value[TSIM_PLAN_TENSOR] = 1; /* eight replicas for a batch of four */
    ck_assert(tsim_scenario_replan(&arena, read, &plan, &planned));
    ck_assert(!tsim_scenario_replan(&arena, load_text(tsim_arena_printf(&arena, TEXT, 4)), &plan, &planned));
}

/* 64 samples at once leave no room for the activations that one at a time needs little of. */
TSIM_TEST(a_stage_that_does_not_fit_is_refused) {
    const struct tsim_scenario *scenario =
        load_text("schema: tsim/v1\nname: small\nmodel: llama3.2-1b\ncluster: {node: dgx-h100}\n"
                  "training: {global_batch_size: 512, steps: 10, stages: [{micro_batch_size: 64, steps: 1}]}\n");
    const struct tsim_run_options options = {.is_brief = true};
    struct tsim_result result;
    ck_assert_int_eq(tsim_train_run(&arena, scenario, &options, &result, &diags), TSIM_ERR_INFEASIBLE);
    ck_assert_str_eq(diags.items[0].field, "training.stages");
    diags.n_errors = diags.n_items = 0;
}

TSIM_MAIN(60, set_up, tear_down)
