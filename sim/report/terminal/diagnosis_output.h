/* diagnosis_output.h - a diagnosis (study/judge/diagnosis.h) as a waterfall for people, CSV and JSON. */
#pragma once

#include "report/terminal/figures.h"
#include "study/judge/diagnosis.h"

struct tsim_diagnosis_output {
    const struct tsim_diagnosis *diagnosis;
    /* The options of the software that launches the job, for each bar and each suspect; NULL: it has none. */
    const char *flags[TSIM_MOST_BARS], *suspect_flags[TSIM_MOST_SUSPECTS];
    const char *without_option[TSIM_MOST_BARS]; /* those of a bar's settings that no option says; NULL: none */
    const char *assumed_node;                   /* what the launch does not say; NULL: it says its machine */
};

void tsim_diagnosis_print(struct tsim_arena *arena, const struct tsim_diagnosis_output *output,
                          const struct tsim_style *style, FILE *out);
void tsim_diagnosis_print_csv(struct tsim_arena *arena, const struct tsim_diagnosis_output *output, FILE *out);

/* Returns {"schema": "tsim/diagnosis/v1", "scenario", "measured": {"as", "step_time_s", "mfu", "inside_interval"},
 * "predicted": {"step_time_s", "mfu", "step_time_low_s", "step_time_high_s"}, "best": {"step_time_s", "mfu", "set",
 * "mfu_if_unexplained_stays"}, "waterfall": [{"kind", "name", "mfu", "mfu_change", "step_time_s", "change_s", "set",
 * "flags"}], "suspects": [{"what", "set", "flags", "step_time_s", "explained"}], "evaluated"}. The caller releases
 * it. */
struct tsim_json *tsim_diagnosis_json(struct tsim_arena *arena, const struct tsim_diagnosis_output *output);
