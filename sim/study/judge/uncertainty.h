/* uncertainty.h - how far off a prediction may be, told from how far off predictions of measured runs like it were.
 *
 * hardware/calibration/residuals.csv holds a line for each published run: what matters for likeness, and measured over
 * predicted step time (`make residuals`). The interval of a run comes from the residuals of the runs nearest to it, in
 * the manner of conformal prediction: their 5 % and 95 % quantiles, at least 2 % to each side, which always include the
 * prediction itself; where the nearest are not near, both sides move out by 2 % for each unit of their mean distance.
 * An accelerator with few runs of its own in that class of precision has an interval that holds all of them; without
 * any it is at least TSIM_UNMEASURED_LOG_RATIO to each side, whatever its neighbours on other accelerators say. Two
 * numbers, how many neighbours and how fast the interval grows, were chosen so that intervals made without a source
 * contain 85 to 95 % of that source's runs (tests/unit/test_uncertainty.c asserts it). */
#ifndef TSIM_STUDY_UNCERTAINTY_H
#define TSIM_STUDY_UNCERTAINTY_H

#include "results/prediction.h"
#include "study/judge/validate.h"

/* Likeness is judged by these. */
struct tsim_traits {
    const char *accelerator, *vendor, *software;
    const char *model; /* "dense", "experts", "cnn", "mlp" */
    enum tsim_precision precision;
    bool shards_parameters;  /* ZeRO-3 */
    bool estimates_rate;     /* the accelerator's sustained matrix rate at the precision is an estimate */
    double peak_flops_per_s; /* of the accelerator, in 16 bits */
    double n_accelerators, tensor, pipeline, micro_batch, parameters; /* counts; the micro-batch in samples */
};

struct tsim_residual {
    const char *name, *source; /* the scenario's name, and its first word */
    struct tsim_traits traits;
    double log_ratio;           /* ln(measured / predicted step time) */
    double hidden, step_time_s; /* written for docs/accuracy.md and not read back; the time is predicted */
};

struct tsim_residuals {
    const struct tsim_residual *rows;
    size_t n;
};

void tsim_traits_of(const struct tsim_result *result, struct tsim_traits *traits);

/* 0: alike in all that is looked at; above TSIM_SIMILAR_DISTANCE hardly comparable. Another accelerator counts 0.5 and
 * 0.4 for each doubling of the peak, another vendor 1, another class of precision (4 bits, 8, 16, more) 1, experts against
 * none (or another kind of model) 2, a rate that is an estimate against a measured or fitted one 2, parameters sharded
 * against whole 0.5, another software profile 0.5; each doubling of the number of accelerators 0.15, of the tensor and
 * pipeline degrees, of the parameters and of the micro-batch 0.1.
 */
double tsim_traits_distance(const struct tsim_traits *a, const struct tsim_traits *b);
#define TSIM_SIMILAR_DISTANCE 0.75

/* ln: nineteen in twenty of the runs of accelerators with fewer than ten of them (57 in residuals.csv) were predicted within
 * it. */
#define TSIM_UNMEASURED_LOG_RATIO 0.2
enum { TSIM_FEW_RUNS = 10 };

struct tsim_interval {
    double low_ratio, high_ratio; /* of the predicted step time: low <= 1 <= high */
    int32_t n_neighbours;         /* 0: nothing to go by, both ratios are NAN */
    int32_t n_similar;            /* neighbours within TSIM_SIMILAR_DISTANCE */
    int32_t n_own;                /* runs on the accelerator, its class of precision */
    double mean_distance;         /* of the neighbours, as tsim_traits_distance has it */
};

/* The residuals of `without_name` and `without_source` (NULL: none) are passed over. */
void tsim_interval_of(struct tsim_arena *arena, const struct tsim_residuals *residuals,
                      const struct tsim_traits *traits, const char *without_name, const char *without_source,
                      struct tsim_interval *interval);

/* Reads FILE, or with NULL the catalogue's table; without one there are no rows. TSIM_ERR_SCHEMA for a line that is
 * no residual. */
enum tsim_status tsim_residuals_read(struct tsim_arena *arena, const char *file, struct tsim_residuals *residuals,
                                     struct tsim_diags *diags);

/* One of each case that ran and has a measured time or rate that is not doubtful, from the first of them. */
void tsim_residuals_of(struct tsim_arena *arena, const struct tsim_validation *validation,
                       struct tsim_residuals *residuals);
/* Their table as CSV, with the interval that each case gets from all other sources. */
void tsim_residuals_print(struct tsim_arena *arena, FILE *out, const struct tsim_validation *validation);

/* Sets the uncertainty of a simulated run from the residuals, without that of the same name; nothing without any. */
void tsim_uncertainty_set(struct tsim_arena *arena, const struct tsim_residuals *residuals,
                          struct tsim_prediction *prediction);
/* From the catalogue's table. */
enum tsim_status tsim_uncertainty_add(struct tsim_arena *arena, struct tsim_prediction *prediction,
                                      struct tsim_diags *diags);

#endif
