/* The data of a run that a report's page shows. */
#include "report/page/page.h"

#include "model/model.h"
#include "partition/partition.h"
#include "report/page/page_kernels.h"
#include "report/terminal/explain_sections.h"
#include "results/verdict.h"
#include "run/run.h"
#include "study/judge/uncertainty.h"
#include "study/search/advice.h"

#include <math.h>

/* ---- the timeline ---- */

struct recorder {
    struct tsim_json *slices; /* seven integers each: stage, stream, kind, micro-batch, chunk, begin and end in us */
    struct tsim_page_kernels kernels;
    struct tsim_step_sink explains; /* takes what the tables need; take NULL: there are none */
    int32_t n_stages, n, most, n_passes, first_passes;
    bool of_first_passes;
};

/* Returns the number of passes that a page can tell apart and draws quickly: the beginning of a pipeline, and some of
 * its middle. */
static int32_t first_passes(int32_t n_stages) {
    enum { LEAST = 400, EACH_STAGE = 25, MOST = 1000 };
    int32_t n = n_stages < MOST / EACH_STAGE ? n_stages * EACH_STAGE : MOST;
    return n > LEAST ? n : LEAST;
}

static void begin(void *context, const struct tsim_step_outline *outline) {
    struct recorder *recorder = context;
    if (recorder->explains.begin)
        recorder->explains.begin(recorder->explains.context, outline);
}

/* Passes by their kind, then messages forward and backward, then the other kinds of tasks. */
static int64_t kind_of(const struct tsim_step_task *task) {
    if (task->kind == TSIM_TASK_PASS)
        return task->item->kind;
    if (task->kind == TSIM_TASK_SEND)
        return TSIM_N_PASS_KINDS + (task->item->kind != TSIM_PASS_FORWARD);
    return TSIM_N_PASS_KINDS + 2 + (task->kind - TSIM_TASK_GATHER);
}

static void take(void *context, const struct tsim_step_task *task) {
    struct recorder *recorder = context;
    if (task->op) {
        tsim_page_kernels_take(&recorder->kernels, task);
        return;
    }
    if (recorder->explains.take)
        recorder->explains.take(recorder->explains.context, task);
    if (recorder->most == 0 || task->stage_group >= recorder->n_stages || task->end_s <= task->begin_s)
        return;
    bool is_pass = task->stream == TSIM_STREAM_COMPUTE;
    recorder->n++;
    recorder->n_passes += is_pass;
    bool is_kept = recorder->of_first_passes ? is_pass && recorder->n_passes <= recorder->first_passes
                                             : recorder->n <= recorder->most;
    if (!is_kept)
        return;
    tsim_json_integer(recorder->slices, NULL, task->stage_group);
    tsim_json_integer(recorder->slices, NULL, task->stream);
    tsim_json_integer(recorder->slices, NULL, kind_of(task));
    tsim_json_integer(recorder->slices, NULL, task->item ? task->item->microbatch : -1);
    tsim_json_integer(recorder->slices, NULL, task->item ? task->item->chunk : -1);
    tsim_json_integer(recorder->slices, NULL, llround(task->begin_s * 1e6));
    tsim_json_integer(recorder->slices, NULL, llround(task->end_s * 1e6));
}

static bool wants_operators(void *context, int32_t stage_group) {
    const struct recorder *recorder = context;
    return tsim_page_kernels_want(&recorder->kernels, stage_group);
}

static bool wants_item(void *context, const struct tsim_pass_item *item) {
    const struct recorder *recorder = context;
    return tsim_page_kernels_want_item(&recorder->kernels, item);
}

/* ---- the parts ---- */

static void add_roof(struct tsim_json *run, const struct tsim_scenario *sc) {
    const struct tsim_accelerator *accelerator = sc->cluster.node->accelerator;
    struct tsim_json *roof = tsim_json_object(run, "roof");
    tsim_json_text(roof, "accelerator", accelerator->name);
    tsim_json_text(roof, "precision", tsim_precision_name(sc->training.precision));
    tsim_json_number(roof, "flops_per_s", accelerator->peak_flops_per_s[sc->training.precision]);
    tsim_json_number(roof, "bytes_per_s", accelerator->memory_bytes_per_s);
}

static void add_kernels(struct tsim_json *run, struct recorder *recorder, const struct tsim_result *result) {
    if (result->step.simulated)
        tsim_page_kernels_json(&recorder->kernels, tsim_critical_rank(result)->stage, recorder->of_first_passes, run);
    tsim_page_kernels_release(&recorder->kernels);
}

static void add_estimates(struct tsim_json *run, const struct tsim_scenario *sc) {
    struct tsim_json *estimates = tsim_json_array(run, "estimates");
    for (size_t i = 0; i < sc->n_estimates; i++)
        tsim_json_text(estimates, NULL, sc->estimates[i]);
}

/* Adds the kinds of the explained memory, each with its name for people. */
static void add_memory_kinds(struct tsim_json *run) {
    struct tsim_json *kinds = tsim_json_object(run, "memory_kinds");
    for (int kind = 0; kind < TSIM_N_MEMORY_KINDS; kind++)
        tsim_json_text(kinds, tsim_memory_kinds[kind].member, tsim_memory_kinds[kind].name);
}

/* Adds three numbers for each stretch: its begin and end in hours, and the index of its cause among the names; -1:
 * running. */
static void add_stretches(struct tsim_json *run, const struct tsim_campaign *c) {
    if (!c->has_failures)
        return;
    struct tsim_json *names = tsim_json_array(run, "loss_names"), *stretches = tsim_json_array(run, "stretches");
    for (int loss = 0; loss < TSIM_N_CAMPAIGN_LOSSES; loss++)
        tsim_json_text(names, NULL, tsim_campaign_loss_name(loss));
    for (int32_t i = 0; i < c->n_stretches; i++) {
        tsim_json_number(stretches, NULL, round(c->stretches[i].begin_s) / TSIM_HOUR_S);
        tsim_json_number(stretches, NULL, round(c->stretches[i].end_s) / TSIM_HOUR_S);
        tsim_json_integer(stretches, NULL, c->stretches[i].loss);
    }
}

/* The quantiles of the days of the whole run, ascending. */
static void add_days(struct tsim_json *run, const struct tsim_uncertainty *u) {
    struct tsim_json *days = u->has_run ? tsim_json_array(run, "days_at") : NULL;
    for (int i = 0; i < TSIM_DISTRIBUTION_POINTS && days; i++)
        tsim_json_number(days, NULL, u->days_at.at[i]);
}

enum tsim_status tsim_page_add_run(struct tsim_arena *arena, struct tsim_json *page,
                                   const struct tsim_scenario *scenario, const struct tsim_page_extent *extent,
                                   struct tsim_diags *diags) {
    const struct tsim_logged none = {0, NULL};
    struct tsim_json *slices = tsim_json_new_array();
    int32_t n_stages = tsim_scenario_schedule(scenario).stages;
    struct recorder recorder = {.slices = slices,
                                .n_stages = n_stages,
                                .most = extent->most_slices,
                                .first_passes = first_passes(n_stages),
                                .of_first_passes = extent->of_first_passes};
    const struct tsim_step_sink sink = {.begin = begin,
                                        .take = take,
                                        .context = &recorder,
                                        .wants_operators = extent->lacks_kernels ? NULL : wants_operators,
                                        .wants_item = wants_item};
    bool explains = !extent->lacks_tables || !extent->lacks_advice,
         listens = extent->most_slices > 0 || !extent->lacks_kernels || explains;
    const struct tsim_timeline *of_first =
        explains ? tsim_timeline_listen(arena, scenario, 0, &recorder.explains) : NULL;
    tsim_page_kernels_begin(&recorder.kernels, arena, scenario);
    const struct tsim_run_options options = {.ignore_memory = extent->ignore_memory, .sink = listens ? &sink : NULL};
    struct tsim_prediction *prediction = TSIM_NEW(arena, struct tsim_prediction);
    enum tsim_explain_extent explained = !extent->lacks_advice   ? TSIM_EXPLAIN_ALL
                                         : !extent->lacks_tables ? TSIM_EXPLAIN_STEP
                                                                 : TSIM_EXPLAIN_MEMORY;
    struct tsim_explanation explanation;
    enum tsim_status status = tsim_train_run(arena, scenario, &options, &prediction->result, diags);
    if (status == TSIM_OK)
        status = tsim_uncertainty_add(arena, prediction, diags);
    if (status == TSIM_OK) {
        if (!extent->lacks_advice)
            tsim_advise(arena, scenario, prediction);
        status = tsim_explanation_build(arena, prediction, of_first, explained, &explanation, diags);
    }
    if (status != TSIM_OK) {
        tsim_json_release(slices);
        tsim_page_kernels_release(&recorder.kernels);
        return status;
    }
    struct tsim_json *run = tsim_json_object(tsim_json_member(page, "runs"), NULL);
    tsim_json_text(run, "name", scenario->name);
    tsim_json_bool(run, "of_samples", tsim_model_is_of_samples(scenario->model));
    tsim_json_take(run, "summary", tsim_summary_json(prediction, extent->logged ? extent->logged : &none));
    tsim_json_take(run, "explain", tsim_explain_json(&explanation));
    add_memory_kinds(run);
    add_roof(run, scenario);
    add_estimates(run, scenario);
    add_days(run, &prediction->uncertainty);
    add_stretches(run, &prediction->result.campaign);
    tsim_json_integer(run, "n_slices", recorder.n);
    tsim_json_integer(run, "n_kept_slices", recorder.n < recorder.most ? recorder.n : recorder.most);
    tsim_json_integer(run, "n_first_passes", recorder.first_passes);
    tsim_json_take(run, "slices", slices);
    add_kernels(run, &recorder, &prediction->result);
    tsim_json_parsed(run, "scenario", tsim_scenario_json(arena, scenario));
    return TSIM_OK;
}
