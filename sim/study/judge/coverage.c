#include "study/judge/coverage.h"

#include "base/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 100 };
static const double OUTSIDE = 0.05;         /* this part of the runs lies below an interval, and as many above */
static const double SAME_TIME = 0.003;      /* difference of logarithms: tables have four digits */
static const double SAME_PARAMETERS = 0.02; /* likewise; a machine may have got a name of its own since */
static const double LEAST_END = 0.5;        /* standard deviations */
static const double MOST_INSIDE = 0.949, NARROWER = 0.99;
static const double LEAST_INSIDE = 0.85, UNLIKELY = 0.1;

static const char *const NAMES[TSIM_N_LEFT_OUT] = {"source", "accelerator", "blind"};

const char *tsim_left_out_name(enum tsim_left_out by) {
    return NAMES[by];
}

/* ---- leaving out ---- */

struct judged { /* a run beside the error that the others let expect */
    const struct tsim_residual *row;
    const char *group;
    struct tsim_error_of_run error;
    enum tsim_error_class class;
    double weight;
    struct tsim_ratios ratios;
};

struct judged_runs {
    struct judged *runs;
    size_t n;
};

static const char *group_of(const struct tsim_residual *row, enum tsim_left_out by) {
    return by == TSIM_LEFT_OUT_ACCELERATOR ? row->traits.accelerator : row->source;
}

struct left_out {
    enum tsim_left_out by;
    const char *group;
    const struct tsim_residual *const *known; /* BLIND: measured runs that are in the group */
    size_t n_known;
};

/* If a run was first predicted blind, all runs that its source measured on its machine are left out with it. */
static bool is_left_out(const struct tsim_residual *row, const void *context) {
    const struct left_out *left_out = context;
    for (size_t i = 0; i < left_out->n_known; i++)
        if (strcmp(row->source, left_out->known[i]->source) == 0 &&
            strcmp(row->traits.accelerator, left_out->known[i]->traits.accelerator) == 0)
            return true;
    return left_out->by != TSIM_LEFT_OUT_BLIND && strcmp(group_of(row, left_out->by), left_out->group) == 0;
}

static bool is_same_run(const struct tsim_residual *a, const struct tsim_residual *b) {
    return a->traits.n_accelerators == b->traits.n_accelerators &&
           fabs(log(a->measured_s / b->measured_s)) < SAME_TIME &&
           (strcmp(a->traits.accelerator, b->traits.accelerator) == 0 ||
            fabs(log(a->traits.parameters / b->traits.parameters)) < SAME_PARAMETERS);
}

static void find_known(struct tsim_arena *arena, const struct tsim_residuals *measured, const struct judged *runs,
                       size_t n, struct left_out *left_out) {
    const struct tsim_residual **known = TSIM_NEW_ARRAY(arena, measured->n + 1, const struct tsim_residual *);
    left_out->known = known;
    for (size_t i = 0; i < measured->n; i++)
        for (size_t k = 0; k < n; k++)
            if (is_same_run(&measured->rows[i], runs[k].row)) {
                known[left_out->n_known++] = &measured->rows[i];
                break;
            }
}

struct tsim_residuals tsim_first_errors(struct tsim_arena *arena, const struct tsim_residuals *measured,
                                        const struct tsim_residuals *blind) {
    struct tsim_residual *rows = TSIM_NEW_ARRAY(arena, measured->n + blind->n + 1, struct tsim_residual);
    bool *is_there = TSIM_NEW_ARRAY(arena, blind->n + 1, bool);
    size_t n = measured->n;
    for (size_t i = 0; i < measured->n; i++) {
        const struct tsim_residual *first = NULL;
        rows[i] = measured->rows[i];
        rows[i].is_first = blind->n == 0;
        for (size_t k = 0; k < blind->n; k++)
            if (is_same_run(&measured->rows[i], &blind->rows[k])) {
                is_there[k] = true;
                first = first ? first : &blind->rows[k];
            }
        if (first) {
            rows[i].traits = first->traits;
            rows[i].log_ratio = first->log_ratio;
            rows[i].is_first = true;
        }
    }
    for (size_t k = 0; k < blind->n; k++)
        if (!is_there[k]) {
            rows[n] = blind->rows[k];
            rows[n++].is_first = true;
        }
    return (struct tsim_residuals){.rows = rows, .n = n};
}

static int by_group(const void *a, const void *b) {
    const struct judged *x = a, *y = b;
    int order = strcmp(x->group, y->group);
    return order ? order : strcmp(x->row->name, y->row->name);
}

static struct judged_runs in_groups(struct tsim_arena *arena, const struct tsim_residuals *rows,
                                    enum tsim_left_out by) {
    struct judged_runs all = {TSIM_NEW_ARRAY(arena, rows->n + 1, struct judged), rows->n};
    for (size_t i = 0; i < rows->n; i++)
        all.runs[i] = (struct judged){.row = &rows->rows[i],
                                      .group = group_of(&rows->rows[i], by),
                                      .class = tsim_error_class_of(&rows->rows[i].traits),
                                      .ratios = {(double)NAN, (double)NAN}};
    qsort(all.runs, all.n, sizeof *all.runs, by_group);
    return all;
}

static size_t end_of_group(const struct judged_runs *all, size_t begin) {
    size_t end = begin;
    while (end < all->n && strcmp(all->runs[end].group, all->runs[begin].group) == 0)
        end++;
    return end;
}

/* Gives the runs of one group the intervals that the measured runs outside it say. */
static void judge_group(const struct tsim_residuals *measured, const struct tsim_error_sizes *sizes,
                        enum tsim_left_out by, struct judged *runs, size_t n) {
    struct tsim_arena arena;
    struct left_out left_out = {.by = by, .group = runs[0].group};
    tsim_arena_init(&arena);
    if (by == TSIM_LEFT_OUT_BLIND)
        find_known(&arena, measured, runs, n, &left_out);
    const struct tsim_error_model *model = tsim_error_model_new(&arena, measured, sizes, is_left_out, &left_out);
    for (size_t i = 0; model && i < n; i++) {
        tsim_error_of_run(&arena, model, &runs[i].row->traits, NULL, NULL, &runs[i].error);
        runs[i].weight = 1 / sqrt((double)n);
        runs[i].ratios = tsim_interval_of(&runs[i].error, sizes, runs[i].class);
    }
    tsim_arena_release(&arena);
}

static struct judged_runs leave_out(struct tsim_arena *arena, const struct tsim_residuals *measured,
                                    const struct tsim_residuals *rows, const struct tsim_error_sizes *sizes,
                                    enum tsim_left_out by) {
    struct judged_runs all = in_groups(arena, rows, by);
    for (size_t i = 0, end; i < all.n; i = end) {
        end = end_of_group(&all, i);
        judge_group(measured, sizes, by, all.runs + i, end - i);
    }
    return all;
}

/* ---- the ends ---- */

struct weighted {
    double value, weight;
};

static int by_value(const void *a, const void *b) {
    double left = ((const struct weighted *)a)->value, right = ((const struct weighted *)b)->value;
    return (left > right) - (left < right);
}

static double weighted_quantile(const struct weighted *sorted, size_t n, double frac) {
    double total = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        total += sorted[i].weight;
    for (size_t i = 0; i < n; i++) {
        sum += sorted[i].weight;
        if (sum >= frac * total)
            return sorted[i].value;
    }
    return sorted[n - 1].value;
}

static size_t add_values(const struct judged_runs *all, enum tsim_error_class class, struct weighted *values,
                         size_t n) {
    for (size_t i = 0; i < all->n; i++)
        if (all->runs[i].class == class && all->runs[i].row->is_first && all->runs[i].error.sd > 0)
            values[n++] = (struct weighted){
                (all->runs[i].row->log_ratio - all->runs[i].error.mean) / all->runs[i].error.sd, all->runs[i].weight};
    return n;
}

static bool is_inside(const struct tsim_residual *row, struct tsim_ratios ratios) {
    double ratio = exp(row->log_ratio);
    return ratios.low <= ratio && ratio <= ratios.high;
}

/* Returns the share of the runs that are inside their intervals. */
static double inside_of(const struct judged_runs *all, const struct tsim_error_sizes *sizes) {
    size_t n_inside = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct judged *run = &all->runs[i];
        n_inside += is_inside(run->row, tsim_interval_of(&run->error, sizes, run->class));
    }
    return all->n > 0 ? (double)n_inside / (double)all->n : 0;
}

/* Returns the chance that so many or more of n runs are outside, if each is with one in ten. */
static double chance_of_outside(int32_t n, int32_t n_outside) {
    double fewer = 0, chance = pow(0.9, n);
    for (int32_t i = 0; i < n_outside; i++) {
        fewer += chance;
        chance *= (double)(n - i) / (i + 1) * (0.1 / 0.9);
    }
    return 1 - fewer;
}

/* Returns whether a group of which so many runs are inside looks as 90 % do (see the header). */
static bool looks_right(int32_t n, int32_t n_inside) {
    return n_inside >= LEAST_INSIDE * n || chance_of_outside(n, n - n_inside) > UNLIKELY * (1 + 1e-9);
}

void tsim_intervals_fit(struct tsim_arena *arena, const struct tsim_residuals *measured,
                        const struct tsim_residuals *blind, struct tsim_error_sizes *sizes) {
    const struct tsim_residuals first = tsim_first_errors(arena, measured, blind);
    tsim_error_sizes_fit(arena, &first, sizes);
    struct judged_runs parts[TSIM_LEFT_OUT_BLIND];
    for (int by = 0; by < TSIM_LEFT_OUT_BLIND; by++)
        parts[by] = leave_out(arena, measured, &first, sizes, (enum tsim_left_out)by);
    struct weighted *values = TSIM_NEW_ARRAY(arena, 2 * first.n + 1, struct weighted);
    for (int class = 0; class < TSIM_N_ERROR_CLASSES; class ++) {
        size_t n = 0;
        for (int by = 0; by < TSIM_LEFT_OUT_BLIND; by++)
            n = add_values(&parts[by], (enum tsim_error_class) class, values, n);
        if (n == 0)
            continue;
        qsort(values, n, sizeof *values, by_value);
        sizes->low[class] = fmax(LEAST_END, -weighted_quantile(values, n, OUTSIDE));
        sizes->high[class] = fmax(LEAST_END, weighted_quantile(values, n, 1 - OUTSIDE));
    }
    for (int step = 0; step < MOST_STEPS; step++) {
        if (inside_of(&parts[TSIM_LEFT_OUT_SOURCE], sizes) <= MOST_INSIDE &&
            inside_of(&parts[TSIM_LEFT_OUT_ACCELERATOR], sizes) <= MOST_INSIDE)
            break;
        sizes->low[TSIM_ERROR_DENSE] *= NARROWER;
        sizes->high[TSIM_ERROR_DENSE] *= NARROWER;
    }
}

/* ---- what they hold ---- */

static struct tsim_held held_of(const struct judged *runs, size_t n, enum tsim_left_out by, const char *name,
                                double *widths) {
    struct tsim_held held = {.by = by, .name = name, .n = (int32_t)n};
    for (size_t i = 0; i < n; i++) {
        held.n_inside += is_inside(runs[i].row, runs[i].ratios);
        widths[i] = runs[i].ratios.high / runs[i].ratios.low - 1;
    }
    tsim_sort_ascending(widths, n);
    held.median_width_frac = widths[n / 2];
    held.holds = looks_right(held.n, held.n_inside);
    return held;
}

/* Adds all groups together, then each. */
static void add_held(struct tsim_arena *arena, const struct judged_runs *all, enum tsim_left_out by,
                     struct tsim_coverage *coverage) {
    double *widths = TSIM_NEW_ARRAY(arena, all->n + 1, double);
    struct tsim_held *held = TSIM_NEW_ARRAY(arena, all->n + 1, struct tsim_held);
    size_t n = 0, n_hold = 0;
    *coverage = (struct tsim_coverage){.held = held};
    if (all->n == 0)
        return;
    held[n++] = held_of(all->runs, all->n, by, "all", widths);
    for (size_t i = 0, end; i < all->n; i = end) {
        end = end_of_group(all, i);
        held[n] = held_of(all->runs + i, end - i, by, all->runs[i].group, widths);
        n_hold += held[n++].holds;
    }
    coverage->n_held = n;
    coverage->holds_frac = (double)n_hold / (double)(n - 1);
}

void tsim_coverage_of(struct tsim_arena *arena, const struct tsim_residuals *measured,
                      const struct tsim_residuals *first, const struct tsim_error_sizes *sizes, enum tsim_left_out by,
                      struct tsim_coverage *coverage) {
    struct judged_runs all = leave_out(arena, measured, first, sizes, by);
    add_held(arena, &all, by, coverage);
}

/* Returns the rows that are not of the group. */
static struct tsim_residuals others_of(struct tsim_arena *arena, const struct tsim_residuals *rows,
                                       const struct left_out *left_out) {
    struct tsim_residual *others = TSIM_NEW_ARRAY(arena, rows->n + 1, struct tsim_residual);
    size_t n = 0;
    for (size_t i = 0; i < rows->n; i++)
        if (!is_left_out(&rows->rows[i], left_out))
            others[n++] = rows->rows[i];
    return (struct tsim_residuals){.rows = others, .n = n};
}

void tsim_coverage_of_blind(struct tsim_arena *arena, const struct tsim_residuals *measured,
                            const struct tsim_residuals *blind, struct tsim_coverage *coverage) {
    struct judged_runs all = in_groups(arena, blind, TSIM_LEFT_OUT_BLIND);
    for (size_t i = 0, end; i < all.n; i = end) {
        struct tsim_arena own;
        struct tsim_error_sizes sizes;
        struct left_out known = {.by = TSIM_LEFT_OUT_BLIND},
                        group = {.by = TSIM_LEFT_OUT_SOURCE, .group = all.runs[i].group};
        end = end_of_group(&all, i);
        tsim_arena_init(&own);
        find_known(&own, measured, all.runs + i, end - i, &known);
        const struct tsim_residuals other_measured = others_of(&own, measured, &known),
                                    other_blind = others_of(&own, blind, &group);
        tsim_intervals_fit(&own, &other_measured, &other_blind, &sizes);
        judge_group(&other_measured, &sizes, TSIM_LEFT_OUT_BLIND, all.runs + i, end - i);
        tsim_arena_release(&own);
    }
    add_held(arena, &all, TSIM_LEFT_OUT_BLIND, coverage);
}

enum tsim_status tsim_residuals_print(struct tsim_arena *arena, FILE *out, const struct tsim_validation *validation,
                                      struct tsim_diags *diags) {
    struct tsim_residuals measured;
    struct tsim_error_sizes sizes;
    bool has_sizes;
    int32_t n_others;
    TSIM_TRY(tsim_error_sizes_read(tsim_calibration_file(arena, "intervals.csv"), &sizes, &has_sizes, diags));
    tsim_residuals_of(arena, validation, &measured);
    struct tsim_ratios *ratios = TSIM_NEW_ARRAY(arena, measured.n + measured.n_rounds + 1, struct tsim_ratios);
    for (size_t i = 0; i < measured.n; i++)
        ratios[i] = (struct tsim_ratios){(double)NAN, (double)NAN};
    for (size_t i = measured.n; i < measured.n + measured.n_rounds; i++)
        ratios[i] = tsim_round_interval(&measured, measured.rows[i].name, &n_others);
    struct judged_runs all = {.n = 0};
    if (has_sizes)
        all = leave_out(arena, &measured, &measured, &sizes, TSIM_LEFT_OUT_SOURCE);
    for (size_t i = 0; i < all.n; i++)
        ratios[all.runs[i].row - measured.rows] = all.runs[i].ratios;
    tsim_residuals_write(out, &measured, ratios);
    return TSIM_OK;
}
