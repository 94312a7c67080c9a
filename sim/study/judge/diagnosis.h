/* diagnosis.h - the way from what was measured of a job to what it should reach, and from there to what the best plan
 * would reach, with a bar for each change.
 *
 * The bars, in their order:
 *
 *   measured       the step as it was timed (of the job, or of a profile)
 *   kernels        with a profile: where it differs from the prediction, by classes of kernels
 *   unexplained    what is left between the measurement and the prediction
 *   predicted      what the same plan should reach on the same machine with the same software
 *   switch         settings of the software that make it faster and keep the plan and its numbers (advice.h)
 *   plan           changes of the plan: each time the one that gains most, or, if none gains alone, the two that gain
 *                  most together
 *   best           what the best plan that surely fits would reach (plan.h)
 *
 * All levels are simulated. Each bar begins where the one before it ends, so that they add up. Without a measurement
 * they begin at `predicted`. */
#pragma once

#include "results/prediction.h"
#include "study/judge/profile.h"
#include "study/search/plan.h"

enum tsim_bar_kind {
    TSIM_BAR_MEASURED,
    TSIM_BAR_KERNELS,
    TSIM_BAR_UNEXPLAINED,
    TSIM_BAR_PREDICTED,
    TSIM_BAR_SWITCH,
    TSIM_BAR_PLAN,
    TSIM_BAR_BEST
};
const char *tsim_bar_kind_name(enum tsim_bar_kind kind);
/* Returns whether the bar is a level: measured, predicted or best. The other bars lead from one level to the next. */
bool tsim_bar_is_level(enum tsim_bar_kind kind);

struct tsim_diagnosis_bar {
    enum tsim_bar_kind kind;
    const char *name;                     /* "attention", "parallelism.tensor=4" */
    double time_s, mfu;                   /* at its end; mfu NAN: not known */
    double change_s, mfu_change;          /* from its beginning to its end; 0 for a level */
    const struct tsim_override *settings; /* switch and plan: the settings that make the change */
    size_t n_settings;
};

/* Something that would make the job slower than it should be, simulated. */
struct tsim_suspect {
    const char *what; /* "gradients are reduced after the backward pass" */
    struct tsim_override setting;
    double time_s;
    double explained_frac; /* part of the gap between prediction and measurement; above 1: more than all of it */
};

enum { TSIM_MOST_BARS = 40, TSIM_MOST_SUSPECTS = 5 };

struct tsim_diagnosis {
    const struct tsim_scenario *scenario;
    struct tsim_prediction prediction; /* with its interval */
    const char *measured_as;           /* "tokens_per_s_per_gpu", "profile"; NULL: nothing was measured */
    double measured_s;                 /* time of a step; NAN: nothing was measured */
    bool is_inside;                    /* it is in the 90 % interval, so that nothing needs an explanation */
    struct tsim_diagnosis_bar bars[TSIM_MOST_BARS];
    size_t n_bars;
    /* The suspects nearest to the measurement come first, if that is below the interval. A number alone does not tell
     * which it is. */
    struct tsim_suspect suspects[TSIM_MOST_SUSPECTS];
    size_t n_suspects;
    int64_t n_evaluated; /* plans that were simulated */
    bool has_plan;       /* some plan surely fits */
    bool is_interrupted; /* some plans were not looked at */
};

struct tsim_diagnosis_options {
    const struct tsim_profile *profile; /* of a step of the job; NULL: none */
    int32_t n_threads;
    tsim_plan_report_fn report; /* may be NULL */
    void *context;
};

/* Diagnoses the job, which runs whether or not it fits by our account. The source must outlive the diagnosis;
 * everything else is in `arena`. It fails as tsim_scenario_load_from and tsim_train_run do. */
enum tsim_status tsim_diagnose(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                               const struct tsim_override *overrides, size_t n_overrides,
                               const struct tsim_diagnosis_options *options, struct tsim_diagnosis *diagnosis,
                               struct tsim_diags *diags);
