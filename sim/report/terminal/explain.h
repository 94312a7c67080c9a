/* explain.h - where a step's time goes and why, as `tsim explain` prints it: one section after another, each as tables
 * for people, CSV and JSON arrays. Sections that need a simulated step are left out if nobody listened to one.
 *
 *   memory         bytes by kind and pipeline stage against capacity, and what would make it fit
 *   operators      the roofline of every operator of the critical rank; the shares of all rows add up to the step
 *   schedule       when the pipeline stages run which passes
 *   critical_path  the chain of passes and messages of which the step consists, and the operators on it
 *   overlaps       communication, what could hide it, what of it is exposed, and why
 *   links          how full each sort of link is over the step, and which link is fullest
 *   input          with `data`: what storage, workers and links could deliver, and how busy they are
 *   sensitivities  the step with each capacity of the hardware a tenth lower and higher
 *   advice         the changes of one setting that gain most */
#pragma once

#include "report/terminal/explain_timeline.h"
#include "report/terminal/figures.h"
#include "results/prediction.h"
#include "step/input/step_input.h"
#include "study/curves/sensitivity.h"

struct tsim_explanation {
    const struct tsim_scenario *scenario;
    const struct tsim_prediction *prediction; /* the scenario's */
    const struct tsim_result *result;         /* the prediction's */
    /* These exist only for a simulated result, unless only memory is explained: */
    struct tsim_sensitivities sensitivities;
    const struct tsim_timeline *timeline;
    struct tsim_stage_group_account account; /* that of the critical rank */
    struct tsim_input_pipeline pipeline;     /* the scenario's input pipeline, without gaps_s */
    struct tsim_input_pipeline_flow flow;    /* the flow of that input pipeline */
    const struct tsim_link_utilization *link_utilizations;
    int32_t n_link_utilizations;
};

enum tsim_explain_extent {
    TSIM_EXPLAIN_MEMORY, /* what the prediction has by itself: no section of a simulated step */
    TSIM_EXPLAIN_STEP,   /* what its step has */
    TSIM_EXPLAIN_ALL     /* the same, and two runs for each sensitivity */
};

/* Runs what the sections need besides `prediction`, which must outlive the explanation. `of_first` is the timeline of
 * the first replica in the predicted step. If that is NULL, or another replica is the critical one, the step is simulated
 * once more, with a listener. It fails only as tsim_train_run does. */
enum tsim_status tsim_explanation_build(struct tsim_arena *arena, const struct tsim_prediction *prediction,
                                        const struct tsim_timeline *of_first, enum tsim_explain_extent extent,
                                        struct tsim_explanation *explanation, struct tsim_diags *diags);

void tsim_explain_print(FILE *out, const struct tsim_style *style, const struct tsim_explanation *explanation);
/* Prints the sections' tables one after another, with an empty line between them (tsim_figures_print_csv). */
void tsim_explain_print_csv(FILE *out, const struct tsim_explanation *explanation);
/* Returns {"schema": "tsim/explain/v1", "scenario", "status", "step_time_s", and an array for each table}. */
struct tsim_json *tsim_explain_json(const struct tsim_explanation *explanation);
