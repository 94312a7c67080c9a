#include "study/scale.h"

#include <math.h>

enum { DEFAULT_DOUBLINGS = 4, MOST_DOUBLINGS = 20, MOST_SETTINGS = 4 };
#define MOST_ACCELERATORS 1000000

static const struct {
    const char *word, *text;
    enum tsim_outcome_figure figure;
} LOSSES[TSIM_N_LOSSES] = {
    [TSIM_LOSS_COMPUTE] = {"compute", "computation", TSIM_OUTCOME_COMPUTE},
    [TSIM_LOSS_RECOMPUTE] = {"recompute", "recomputation", TSIM_OUTCOME_RECOMPUTE},
    [TSIM_LOSS_BUBBLE] = {"bubble", "the pipeline bubble", TSIM_OUTCOME_BUBBLE},
    [TSIM_LOSS_TENSOR] = {"exposed_tensor", "exposed tensor-parallel communication", TSIM_OUTCOME_EXPOSED_TENSOR},
    [TSIM_LOSS_PIPELINE] = {"exposed_pipeline", "exposed messages between stages", TSIM_OUTCOME_EXPOSED_PIPELINE},
    [TSIM_LOSS_DATA] = {"exposed_data", "exposed data-parallel communication", TSIM_OUTCOME_EXPOSED_DATA},
    [TSIM_LOSS_CONTEXT] = {"exposed_context", "exposed context-parallel communication", TSIM_OUTCOME_EXPOSED_CONTEXT},
    [TSIM_LOSS_EXPERT] = {"exposed_expert", "exposed expert-parallel communication", TSIM_OUTCOME_EXPOSED_EXPERT},
    [TSIM_LOSS_STALL] = {"data_stall", "waiting for input data", TSIM_OUTCOME_DATA_STALL},
    [TSIM_LOSS_OPTIMIZER] = {"optimizer", "the optimizer", TSIM_OUTCOME_OPTIMIZER},
};

const char *tsim_loss_word(enum tsim_loss loss) {
    return LOSSES[loss].word;
}

const char *tsim_loss_text(enum tsim_loss loss) {
    return LOSSES[loss].text;
}

/* ---- analysis ---- */

static bool is_ok(const struct tsim_scale_row *row) {
    return row->point.status == TSIM_POINT_OK;
}

static double step_s(const struct tsim_scale_row *row) {
    return row->point.outcome.value[TSIM_OUTCOME_STEP_TIME];
}

static double samples_per_s(const struct tsim_scale_row *row) {
    return (double)row->global_batch_size / step_s(row);
}

struct cause {
    bool has;
    enum tsim_loss loss;
    double excess_s, share_frac;
};

static struct cause find_cause(const struct tsim_scale_row *reference, const struct tsim_scale_row *row) {
    struct cause cause = {.has = false};
    double work = (double)row->global_batch_size / (double)row->n_accelerators;
    double r = work / ((double)reference->global_batch_size / (double)reference->n_accelerators), sum_s = 0;
    for (int i = 0; i < TSIM_N_LOSSES; i++) {
        const enum tsim_outcome_figure figure = LOSSES[i].figure;
        double excess_s = row->point.outcome.value[figure] - r * reference->point.outcome.value[figure];
        if (!(excess_s > 0))
            continue;
        sum_s += excess_s;
        if (!cause.has || excess_s > cause.excess_s)
            cause = (struct cause){true, (enum tsim_loss)i, excess_s, 0};
    }
    cause.has = cause.has && step_s(row) > r * step_s(reference);
    cause.share_frac = cause.has ? cause.excess_s / sum_s : 0;
    return cause;
}

static void set_knee(struct tsim_scale *scale, size_t knee, const struct cause *cause) {
    scale->has_knee = cause->has;
    scale->knee = knee;
    scale->knee_cause = cause->loss;
    scale->knee_excess_s = cause->excess_s;
    scale->knee_share_frac = cause->share_frac;
}

static void find_limit(struct tsim_scale *scale, const struct tsim_scale_row *reference, double least_frac) {
    for (size_t i = 0; i < scale->n_rows; i++) {
        const struct tsim_scale_row *row = &scale->rows[i];
        if (!is_ok(row))
            continue;
        if (row->efficiency_frac < least_frac) {
            struct cause cause = find_cause(reference, row);
            set_knee(scale, i, &cause);
            return;
        }
        scale->has_last_above = true;
        scale->last_above = i;
    }
}

/* Slopes of ln(throughput) over ln(count); before the first row it is 1. The knee is where the slope falls most. */
static void find_bend(struct tsim_scale *scale) {
    const struct tsim_scale_row *before = NULL;
    double slope_before = 1, most_bend = TSIM_SCALE_LEAST_BEND;
    for (size_t i = 0; i < scale->n_rows; i++) {
        const struct tsim_scale_row *row = &scale->rows[i];
        if (!is_ok(row))
            continue;
        if (before) {
            double slope = log(samples_per_s(row) / samples_per_s(before)) /
                           log((double)row->n_accelerators / (double)before->n_accelerators);
            struct cause cause = find_cause(before, row);
            if (slope_before - slope > most_bend && cause.has) {
                most_bend = slope_before - slope;
                set_knee(scale, (size_t)(before - scale->rows), &cause);
            }
            slope_before = slope;
        }
        before = row;
    }
}

void tsim_scale_analyse(struct tsim_scale_row *rows, size_t n_rows, double until_efficiency_frac,
                        struct tsim_scale *scale) {
    const struct tsim_scale_row *reference = NULL;
    scale->rows = rows;
    scale->n_rows = n_rows;
    scale->has_knee = scale->has_last_above = false;
    for (size_t i = 0; i < n_rows; i++) {
        struct tsim_scale_row *row = &rows[i];
        row->speedup = row->efficiency_frac = (double)NAN;
        row->has_cause = false;
        if (!is_ok(row))
            continue;
        reference = reference ? reference : row;
        row->speedup = samples_per_s(row) / samples_per_s(reference);
        row->efficiency_frac = row->speedup * (double)reference->n_accelerators / (double)row->n_accelerators;
        struct cause cause = find_cause(reference, row);
        row->has_cause = row != reference && cause.has;
        row->cause = cause.loss;
        row->excess_s = cause.excess_s;
        row->share_frac = cause.share_frac;
    }
    if (until_efficiency_frac > 0)
        find_limit(scale, reference, until_efficiency_frac);
    else
        find_bend(scale);
}

/* ---- running ---- */

struct study {
    struct tsim_arena *arena;
    const struct tsim_sweep *sweep;
    const struct tsim_scale_options *options;
    const struct tsim_scenario *base;
    struct tsim_scale_row *rows; /* heap */
    size_t n_rows, capacity;
    struct tsim_diags *diags;
};

static struct tsim_setting integer_setting(struct tsim_arena *arena, const char *path, int64_t value) {
    const char *text = tsim_arena_printf(arena, "%lld", (long long)value);
    return (struct tsim_setting){path, text, text};
}

static struct tsim_diag *refuse(const struct study *study, int64_t count, const char *what) {
    return tsim_diags_error(study->diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){0}, NULL, "%lld accelerators: %s",
                            (long long)count, what);
}

/* What a count changes in the scenario. */
static enum tsim_status settings_of(const struct study *study, struct tsim_scale_row *row,
                                    struct tsim_setting settings[MOST_SETTINGS], size_t *n_settings) {
    struct tsim_arena *arena = study->arena;
    int64_t n = row->n_accelerators, per_node = study->base->cluster.accelerators_per_node;
    int64_t batch = study->base->training.global_batch_size;
    if (n > per_node && n % per_node != 0) {
        tsim_diag_hint(refuse(study, n, "no whole number of nodes"), "a node has %lld", (long long)per_node);
        return TSIM_ERR_INFEASIBLE;
    }
    if (study->options->is_weak && batch * n % study->base->n_accelerators != 0) {
        tsim_diag_hint(refuse(study, n, "no whole number of samples in a batch"),
                       "the scenario has %lld samples on %lld accelerators", (long long)batch,
                       (long long)study->base->n_accelerators);
        return TSIM_ERR_INFEASIBLE;
    }
    row->global_batch_size = study->options->is_weak ? batch * n / study->base->n_accelerators : batch;
    size_t k = 0;
    settings[k++] = integer_setting(arena, "cluster.nodes", n > per_node ? n / per_node : 1);
    settings[k++] = integer_setting(arena, "cluster.accelerators_per_node", n > per_node ? per_node : n);
    settings[k++] = integer_setting(arena, "training.global_batch_size", row->global_batch_size);
    settings[k++] = (struct tsim_setting){"parallelism.data", "auto", "\"auto\""};
    *n_settings = k;
    return TSIM_OK;
}

static enum tsim_status add_row(struct study *study, int64_t count) {
    struct tsim_setting settings[MOST_SETTINGS];
    struct tsim_choice choice = {.settings = settings};
    const struct tsim_space_axis axis = {&choice, 1};
    struct tsim_sweep sweep = *study->sweep;
    study->rows = tsim_heap_grow(study->rows, &study->capacity, study->n_rows + 1, sizeof *study->rows);
    struct tsim_scale_row *row = &study->rows[study->n_rows++];
    *row = (struct tsim_scale_row){.n_accelerators = count};
    TSIM_TRY(settings_of(study, row, settings, &choice.n_settings));
    const struct tsim_space space = {
        .axes = &axis, .n_axes = 1, .n_points = 1, .most_settings = choice.n_settings, .json = "[]"};
    sweep.space = &space;
    return tsim_sweep_point(&sweep, 0, &row->point, study->diags);
}

/* Is there a limit, and is the last row below it, or is it none to measure by? */
static bool is_over(const struct study *study) {
    const struct tsim_scale_options *options = study->options;
    const struct tsim_scale_row *reference = study->rows, *last = &study->rows[study->n_rows - 1];
    while (reference < last && !is_ok(reference))
        reference++;
    if (options->until_efficiency_frac <= 0)
        return false;
    if (!is_ok(last))
        return !options->counts && is_ok(reference); /* doubling cannot go on */
    double efficiency_frac = samples_per_s(last) / samples_per_s(reference) * (double)reference->n_accelerators /
                             (double)last->n_accelerators;
    return efficiency_frac < options->until_efficiency_frac;
}

static enum tsim_status run_counts(struct study *study) {
    const struct tsim_scale_options *options = study->options;
    int n_doublings = options->until_efficiency_frac > 0 ? MOST_DOUBLINGS : DEFAULT_DOUBLINGS;
    int64_t count = study->base->n_accelerators;
    for (size_t i = 0; options->counts && i < options->n_counts; i++) {
        TSIM_TRY(add_row(study, options->counts[i]));
        if (is_over(study))
            return TSIM_OK;
    }
    for (int i = 0; !options->counts && i <= n_doublings && count <= MOST_ACCELERATORS; i++, count *= 2) {
        TSIM_TRY(add_row(study, count));
        if (is_over(study))
            return TSIM_OK;
    }
    return TSIM_OK;
}

enum tsim_status tsim_scale_run(struct tsim_arena *arena, const struct tsim_sweep *sweep,
                                const struct tsim_scale_options *options, struct tsim_scale *scale,
                                struct tsim_diags *diags) {
    struct study study = {.arena = arena, .sweep = sweep, .options = options, .diags = diags};
    TSIM_TRY(tsim_scenario_load_from(arena, sweep->source, sweep->overrides, sweep->n_overrides, &study.base, diags));
    enum tsim_status status = run_counts(&study);
    if (status == TSIM_OK) {
        struct tsim_scale_row *rows = TSIM_NEW_ARRAY(arena, study.n_rows, struct tsim_scale_row);
        for (size_t i = 0; i < study.n_rows; i++)
            rows[i] = study.rows[i];
        *scale = (struct tsim_scale){.is_weak = options->is_weak};
        tsim_scale_analyse(rows, study.n_rows, options->until_efficiency_frac, scale);
    }
    tsim_heap_free(study.rows);
    return status;
}
