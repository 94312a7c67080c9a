#include "study/judge/diagnosis.h"

#include "config/text/document.h"
#include "results/json.h"
#include "results/measured.h"
#include "run/run.h"
#include "study/judge/uncertainty.h"
#include "study/search/advice.h"

#include <math.h>
#include <string.h>

#define LEAST_CHANGE_FRAC 1e-3 /* a change by a smaller part of a step is no bar of its own */
enum { MOST_SWITCHES = 6, MOST_TOGETHER = 2 };

struct study {
    struct tsim_arena *arena;
    struct tsim_diagnosis *diagnosis;
    const struct tsim_diagnosis_options *options;
    const struct tsim_scenario_source *source;
    const struct tsim_override *overrides;
    size_t n_overrides;
    struct tsim_diags *diags;
    const struct tsim_scenario *now; /* with the changes so far */
    double now_s;                    /* its step, without variation */
    double varied;                   /* of the job's own step: with its variation over without */
};

const char *tsim_bar_kind_name(enum tsim_bar_kind kind) {
    static const char *const NAMES[] = {"measured", "kernels", "unexplained", "predicted", "switch", "plan", "best"};
    return NAMES[kind];
}

bool tsim_bar_is_level(enum tsim_bar_kind kind) {
    return kind == TSIM_BAR_MEASURED || kind == TSIM_BAR_PREDICTED || kind == TSIM_BAR_BEST;
}

/* ---- bars ---- */

/* The model's FLOPs and the machine's peak are the same, so MFUs are inversely proportional to times. */
static double mfu_at(const struct tsim_diagnosis *d, double time_s) {
    const struct tsim_step_result *step = &d->prediction.result.step;
    return step->throughput.mfu * step->terms.time_s / time_s;
}

static struct tsim_diagnosis_bar *add_bar(struct tsim_diagnosis *d, enum tsim_bar_kind kind, const char *name,
                                          double time_s) {
    const struct tsim_diagnosis_bar *last = d->n_bars > 0 ? &d->bars[d->n_bars - 1] : NULL;
    TSIM_ASSERT(d->n_bars < TSIM_MOST_BARS);
    struct tsim_diagnosis_bar *bar = &d->bars[d->n_bars++];
    *bar = (struct tsim_diagnosis_bar){.kind = kind, .name = name, .time_s = time_s, .mfu = mfu_at(d, time_s)};
    if (last && !tsim_bar_is_level(kind)) {
        bar->change_s = time_s - last->time_s;
        bar->mfu_change = bar->mfu - last->mfu;
    }
    return bar;
}

static void add_change(struct study *study, enum tsim_bar_kind kind, const struct tsim_override *settings, size_t n,
                       double steady_s) {
    struct tsim_diagnosis_bar *bar =
        add_bar(study->diagnosis, kind, tsim_settings_text(study->arena, settings, n), study->varied * steady_s);
    bar->settings = settings;
    bar->n_settings = n;
    study->now_s = steady_s;
}

/* ---- what was measured ---- */

/* Finds the step's time by the first of the times and rates that are given. */
static void find_measured(struct tsim_diagnosis *d, const struct tsim_profile *profile) {
    const double predicted_s = d->prediction.result.step.terms.time_s;
    struct tsim_measured_rows rows;
    d->measured_s = (double)NAN;
    if (profile) {
        d->measured_as = "profile";
        d->measured_s = profile->step_s;
        return;
    }
    tsim_measured_of(&d->prediction.result, &rows);
    for (int32_t i = 0; i < rows.n && !d->measured_as; i++) {
        const struct tsim_measured_row *row = &rows.rows[i];
        if (!tsim_metric_is_speed(row->metric))
            continue;
        d->measured_as = tsim_metric_name(row->metric);
        d->measured_s = tsim_metric_kind(row->metric) == TSIM_METRIC_KIND_TIME
                            ? row->measured
                            : predicted_s * row->predicted / row->measured;
    }
}

/* Adds the bars in which a profiled step and the predicted one differ. Kernels may overlap one another, so that what
 * they gain or lose need not add up to the whole; what is left is not explained. */
static void add_kernels(struct tsim_diagnosis *d, const struct tsim_profile *profile) {
    const double least_s = LEAST_CHANGE_FRAC * profile->step_s;
    struct tsim_profile_comparison c;
    double level_s = profile->step_s;
    tsim_profile_compare(&d->prediction.result, &c);
    for (int i = 0; i < TSIM_N_KERNEL_CLASSES; i++) {
        double change_s = c.classes[i].predicted_s - profile->class_s[i];
        if (i == TSIM_KERNEL_COMMUNICATION || fabs(change_s) < least_s)
            continue;
        add_bar(d, TSIM_BAR_KERNELS, tsim_kernel_class_name((enum tsim_kernel_class)i), level_s += change_s);
    }
    double exposed_s = c.predicted_exposed_s - profile->exposed_s;
    if (fabs(exposed_s) >= least_s)
        add_bar(d, TSIM_BAR_KERNELS, "communication that nothing hides", level_s += exposed_s);
    double idle_s = c.predicted_idle_s - fmax(0, profile->step_s - profile->busy_s);
    if (fabs(idle_s) >= least_s)
        add_bar(d, TSIM_BAR_KERNELS, "nothing runs", level_s += idle_s);
}

static void add_measured(struct tsim_diagnosis *d, const struct tsim_profile *profile) {
    const struct tsim_uncertainty *u = &d->prediction.uncertainty;
    const double predicted_s = d->prediction.result.step.terms.time_s;
    if (d->measured_as) {
        d->is_inside = u->basis && d->measured_s >= u->step_time_low_s && d->measured_s <= u->step_time_high_s;
        add_bar(d, TSIM_BAR_MEASURED, d->measured_as, d->measured_s);
        if (profile)
            add_kernels(d, profile);
        add_bar(d, TSIM_BAR_UNEXPLAINED, "not explained", predicted_s);
    }
    add_bar(d, TSIM_BAR_PREDICTED, "this launch", predicted_s);
}

/* ---- what may be wrong with the job ---- */

static bool propose(struct study *study, const struct tsim_scenario *from, const struct tsim_override *settings,
                    size_t n, const struct tsim_scenario **scenario) {
    return tsim_scenario_propose(study->arena, from, settings, n, scenario, TSIM_UNHEARD);
}

/* Returns the step without variation; 0 if it was not simulated. */
static double steady_time_s(struct study *study, const struct tsim_scenario *scenario, bool ignores_memory) {
    const struct tsim_run_options options = {
        .is_steady = true, .is_brief = true, .is_step = true, .ignore_memory = ignores_memory};
    struct tsim_result result;
    bool is_run = tsim_train_run(study->arena, scenario, &options, &result, TSIM_UNHEARD) == TSIM_OK;
    return is_run && result.step.simulated ? result.step.terms.time_s : 0;
}

static double miss(const struct tsim_suspect *suspect) {
    return fabs(suspect->explained_frac - 1);
}

static void keep_suspect(struct tsim_diagnosis *d, const struct tsim_suspect *suspect) {
    size_t at = d->n_suspects;
    while (at > 0 && miss(suspect) < miss(&d->suspects[at - 1]))
        at--;
    if (at == TSIM_MOST_SUSPECTS)
        return;
    d->n_suspects += d->n_suspects < TSIM_MOST_SUSPECTS;
    memmove(&d->suspects[at + 1], &d->suspects[at], (d->n_suspects - 1 - at) * sizeof d->suspects[0]);
    d->suspects[at] = *suspect;
}

/* Things that go wrong unnoticed, as settings; what the job has already, or cannot have, changes nothing or is not valid. */
static void find_suspects(struct study *study) {
    static const struct tsim_suspect SUSPECTS[] = {
        {.what = "attention is not the fused kernel", .setting = {"training.attention", "standard"}},
        {.what = "kernels are not fused", .setting = {"software.fusion", "none"}},
        {.what = "gradients are reduced after the backward pass",
         .setting = {"parallelism.overlap.gradients", "false"}},
        {.what = "nothing hides the gathering of parameters", .setting = {"parallelism.overlap.parameters", "false"}},
        {.what = "nothing hides messages between stages", .setting = {"parallelism.overlap.pipeline", "false"}},
        {.what = "every layer is recomputed", .setting = {"training.recompute", "full"}},
        {.what = "products run in 16 bits, not in fp8", .setting = {"training.precision", "bf16"}},
        {.what = "one NIC of each node is used", .setting = {"software.nics_used", "1"}},
        {.what = "one accelerator runs at 80 % of its speed",
         .setting = {"cluster.degraded", "[{link: accelerator, index: 0, rate: 0.8}]"}},
        {.what = "the NICs of one node run at half their rate",
         .setting = {"cluster.degraded", "[{link: nic, rate: 0.5}]"}},
    };
    struct tsim_diagnosis *d = study->diagnosis;
    const double gap_s = d->measured_s / study->varied - study->now_s;
    for (size_t i = 0; i < sizeof SUSPECTS / sizeof SUSPECTS[0]; i++) {
        struct tsim_suspect suspect = SUSPECTS[i];
        const struct tsim_scenario *scenario;
        bool is_faster =
            strcmp(suspect.setting.path, "training.precision") == 0 && study->now->training.precision != TSIM_FP8;
        if (is_faster || !propose(study, study->now, &suspect.setting, 1, &scenario))
            continue;
        double time_s = steady_time_s(study, scenario, true);
        suspect.time_s = study->varied * time_s;
        suspect.explained_frac = (time_s - study->now_s) / gap_s;
        if (time_s - study->now_s >= LEAST_CHANGE_FRAC * study->now_s)
            keep_suspect(d, &suspect);
    }
}

/* ---- switches ---- */

static enum tsim_status add_switches(struct study *study) {
    struct tsim_result result = study->diagnosis->prediction.result;
    struct tsim_improvement improvement;
    for (int i = 0; i < MOST_SWITCHES && tsim_advise_switch(study->arena, study->now, &result, &improvement); i++) {
        const struct tsim_run_options options = {.is_steady = true, .is_step = true};
        study->now = improvement.scenario;
        add_change(study, TSIM_BAR_SWITCH, improvement.settings, improvement.n_settings, improvement.time_s);
        TSIM_TRY(tsim_train_run(study->arena, study->now, &options, &result, study->diags));
    }
    return TSIM_OK;
}

/* ---- the plan ---- */

enum { MOST_CHANGES = 20 }; /* a plan's keys, and what it hides one by one */

struct changes { /* of what the plan sets */
    struct tsim_override items[MOST_CHANGES];
    size_t n;
    bool says_data; /* the job says how many replicas it has, which follow from the plan */
};

/* Returns a value of the plan as --set takes it. */
static const char *text_of(struct study *study, const struct tsim_plan *plan, const struct tsim_json *set,
                           const char *path) {
    enum tsim_plan_key key;
    return tsim_plan_key_find(path, &key) ? tsim_plan_key_text(study->arena, key, plan->choice.value[key])
                                          : tsim_json_value_text(study->arena, tsim_json_find(set, path));
}

/* Lists what the plan sets otherwise than the job has it now. */
static enum tsim_status find_changes(struct study *study, const struct tsim_plan *plan, struct changes *changes) {
    const struct tsim_value *resolved;
    const char *own = tsim_scenario_json(study->arena, study->diagnosis->scenario),
               *layers = tsim_plan_key_path(TSIM_PLAN_LAYERS);
    TSIM_TRY(tsim_document_parse(study->arena, "job", own, strlen(own), &resolved, study->diags));
    const struct tsim_value *data = tsim_value_find_path(study->now->source->root, "parallelism.data");
    struct tsim_json *set = tsim_json_new_parsed(plan->set_json);
    *changes =
        (struct changes){.says_data = data && !(data->kind == TSIM_VALUE_SCALAR && strcmp(data->text, "auto") == 0)};
    for (size_t i = 0; i < tsim_json_count(set); i++) {
        const char *path = tsim_arena_strdup(study->arena, tsim_json_key(set, i)),
                   *text = text_of(study, plan, set, path);
        bool is_of_layers = strcmp(path, layers) == 0;
        const struct tsim_value *has = tsim_value_find_path(is_of_layers ? study->now->source->root : resolved, path);
        bool is_same = has && has->kind == TSIM_VALUE_SCALAR && strcmp(text, has->text) == 0;
        bool is_silent = is_of_layers && !has && strcmp(text, "auto") == 0;
        if (is_same || is_silent || strcmp(path, "parallelism.data") == 0)
            continue;
        TSIM_ASSERT(changes->n < MOST_CHANGES);
        changes->items[changes->n++] = (struct tsim_override){path, text};
    }
    tsim_json_release(set);
    return TSIM_OK;
}

/* Picks the changes whose bits are in `taken`; `settings` has room for all of them and the replicas. */
static size_t pick(const struct changes *changes, unsigned taken, struct tsim_override *settings) {
    size_t n = 0;
    for (size_t i = 0; i < changes->n; i++)
        if (taken >> i & 1u)
            settings[n++] = changes->items[i];
    if (changes->says_data)
        settings[n++] = (struct tsim_override){"parallelism.data", "auto"};
    return n;
}

static int n_bits(unsigned set) {
    int n = 0;
    for (; set; set &= set - 1)
        n++;
    return n;
}

/* Returns the subset of `left`, of that many changes, which makes the step shortest; 0 if none of them is valid and
 * fits. */
static unsigned best_subset(struct study *study, const struct changes *changes, unsigned left, int size,
                            const struct tsim_scenario **scenario, double *time_s) {
    unsigned best = 0;
    for (unsigned taken = 1; taken <= left; taken++) {
        struct tsim_override settings[MOST_CHANGES + 1];
        const struct tsim_scenario *tried;
        if ((taken & ~left) || n_bits(taken) != size ||
            !propose(study, study->now, settings, pick(changes, taken, settings), &tried))
            continue;
        double tried_s = steady_time_s(study, tried, false);
        if (tried_s > 0 && (!best || tried_s < *time_s)) {
            best = taken;
            *time_s = tried_s;
            *scenario = tried;
        }
    }
    return best;
}

/* Changes that gain, the largest first, until the job is as fast as the plan; changes that are worth nothing on the way
 * are left out. */
static void add_plan(struct study *study, const struct changes *changes, double plan_s) {
    unsigned left = (1u << changes->n) - 1;
    while (left && study->now_s > plan_s * (1 + LEAST_CHANGE_FRAC)) {
        const struct tsim_scenario *scenario = NULL;
        double time_s = 0;
        unsigned taken = 0;
        for (int size = 1; size <= MOST_TOGETHER && size <= n_bits(left); size++) {
            taken = best_subset(study, changes, left, size, &scenario, &time_s);
            if (taken && time_s < study->now_s * (1 - LEAST_CHANGE_FRAC))
                break;
            taken = 0;
        }
        if (!taken)
            taken = best_subset(study, changes, left, n_bits(left), &scenario, &time_s);
        if (!taken)
            return;
        struct tsim_override *settings = TSIM_NEW_ARRAY(study->arena, MOST_CHANGES + 1, struct tsim_override);
        size_t n = pick(changes, taken, settings);
        add_change(study, TSIM_BAR_PLAN, settings, n, time_s);
        study->now = scenario;
        left &= ~taken;
    }
}

static enum tsim_status search(struct study *study, struct tsim_plan_result *result) {
    const struct tsim_diagnosis *d = study->diagnosis;
    struct tsim_override *all =
        TSIM_NEW_ARRAY(study->arena, study->n_overrides + (size_t)MOST_SWITCHES * 3, struct tsim_override);
    struct tsim_plan_space *space = TSIM_NEW(study->arena, struct tsim_plan_space);
    size_t n = study->n_overrides;
    if (n > 0)
        memcpy(all, study->overrides, n * sizeof *all);
    for (size_t i = 0; i < d->n_bars; i++)
        for (size_t k = 0; k < d->bars[i].n_settings; k++)
            all[n++] = d->bars[i].settings[k];
    TSIM_TRY(tsim_plan_space_read(study->arena, study->source, all, n, NULL, TSIM_PLAN_FINE, space, study->diags));
    const struct tsim_plan_search search = {.space = space,
                                            .ranking = {.objective = TSIM_OUTCOME_STEP_TIME},
                                            .n_threads = study->options->n_threads,
                                            .is_for_candidates = true,
                                            .heeds_interrupt = true};
    return tsim_plan_run(study->arena, &search, study->options->report, study->options->context, result, study->diags);
}

static enum tsim_status add_best(struct study *study) {
    struct tsim_plan_result *result = TSIM_NEW(study->arena, struct tsim_plan_result);
    struct tsim_diagnosis *d = study->diagnosis;
    struct changes changes;
    TSIM_TRY(search(study, result));
    d->n_evaluated = result->n_evaluated;
    d->is_interrupted = result->is_interrupted;
    d->has_plan = result->n_own > 0;
    if (d->has_plan) {
        const struct tsim_plan *plan = &result->own[0];
        TSIM_TRY(find_changes(study, plan, &changes));
        add_plan(study, &changes, plan->point.outcome.value[TSIM_OUTCOME_STEP_TIME]);
    }
    add_bar(d, TSIM_BAR_BEST, "the best plan", study->varied * study->now_s);
    return TSIM_OK;
}

enum tsim_status tsim_diagnose(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                               const struct tsim_override *overrides, size_t n_overrides,
                               const struct tsim_diagnosis_options *options, struct tsim_diagnosis *diagnosis,
                               struct tsim_diags *diags) {
    const struct tsim_run_options run = {.ignore_memory = true};
    struct tsim_diagnosis *d = diagnosis;
    *d = (struct tsim_diagnosis){.is_inside = false};
    TSIM_TRY(tsim_scenario_load_from(arena, source, overrides, n_overrides, &d->scenario, diags));
    TSIM_TRY(tsim_train_run(arena, d->scenario, &run, &d->prediction.result, diags));
    TSIM_TRY(tsim_uncertainty_add(arena, &d->prediction, diags));
    struct study study = {.arena = arena,
                          .diagnosis = d,
                          .options = options,
                          .source = source,
                          .overrides = overrides,
                          .n_overrides = n_overrides,
                          .diags = diags,
                          .now = d->scenario,
                          .now_s = tsim_steady_time_s(&d->prediction.result.step)};
    study.varied = d->prediction.result.step.terms.time_s / study.now_s;
    find_measured(d, options->profile);
    add_measured(d, options->profile);
    if (d->measured_as && !d->is_inside && d->measured_s > d->prediction.result.step.terms.time_s)
        find_suspects(&study);
    TSIM_TRY(add_switches(&study));
    return add_best(&study);
}
