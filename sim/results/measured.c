#include "results/measured.h"

#include "results/format.h"
#include "results/outcome.h"
#include "step/step.h"

#include <math.h>

struct comparison {
    enum tsim_outcome_figure figure;
    enum { SIMULATED, FORMULA, ALLOCATED } as;
};

static const struct comparison COMPARISONS[TSIM_N_METRICS] = {
#define METRIC(NAME, key, dimension, bare, most, KIND, FIGURE, AS, help)                                               \
    [TSIM_METRIC_##NAME] = {TSIM_OUTCOME_##FIGURE, AS},
#include "config/measured.def"
};

static const struct tsim_outcome_unit *unit_of(enum tsim_metric metric) {
    TSIM_ASSERT(metric < TSIM_N_METRICS);
    return tsim_outcome_spec(COMPARISONS[metric].figure)->unit;
}

static double predicted(const struct tsim_result *result, const struct tsim_outcome *outcome, enum tsim_metric metric) {
    const struct comparison *of = &COMPARISONS[metric];
    double value = outcome->value[of->figure] * unit_of(metric)->shown_per_unit;
    switch (of->as) {
    case SIMULATED:
        return value;
    case FORMULA:
        return value * (tsim_step_formula_flops(result->scenario) / result->step.hardware_flops);
    case ALLOCATED:
        return value - result->step.memory.reserve_bytes;
    }
    TSIM_BUG("metric %d is compared in no way", (int)metric);
}

void tsim_measured_of(const struct tsim_result *result, struct tsim_measured_rows *measured) {
    const struct tsim_measured *given = &result->scenario->measured;
    struct tsim_outcome outcome;
    measured->n = 0;
    if (!result->step.simulated || !given->source)
        return;
    tsim_outcome_of_run(result, &outcome);
    for (int m = 0; m < TSIM_N_METRICS; m++) {
        double value = given->has[m] ? predicted(result, &outcome, (enum tsim_metric)m) : (double)NAN;
        if (!isnan(value))
            measured->rows[measured->n++] = (struct tsim_measured_row){.metric = (enum tsim_metric)m,
                                                                       .measured = given->value[m],
                                                                       .predicted = value,
                                                                       .error_frac = value / given->value[m] - 1};
    }
}

double tsim_metric_in_json(enum tsim_metric metric, double value) {
    return value / unit_of(metric)->shown_per_unit;
}

const char *tsim_metric_text(enum tsim_metric metric, double value, char *buffer, size_t size) {
    const struct tsim_outcome_unit *unit = unit_of(metric);
    if (isnan(value)) {
        snprintf(buffer, size, "-");
        return buffer;
    }
    if (unit->shown == TSIM_TIME_S) /* with the digits that a published time has */
        return tsim_seconds_text(value, value, buffer, size);
    if (unit->shown == TSIM_COUNT && tsim_metric_is_speed(metric) && value >= 1000 && value < 1e6)
        return tsim_count_text(value, buffer, size);
    if (unit->shown == TSIM_FLOPS_PER_S || (unit->shown == TSIM_COUNT && !tsim_metric_is_speed(metric))) {
        double shown = tsim_metric_in_json(metric, value);
        snprintf(buffer, size, shown < 1 ? "%.3g" : "%.1f", shown); /* a day's part may be all of a run */
        return buffer;
    }
    return tsim_outcome_text(COMPARISONS[metric].figure, tsim_metric_in_json(metric, value), buffer, size);
}
